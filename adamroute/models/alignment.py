"""Contrastive heads between photos and catalogue text (DESIGN, section 4), fitted at build time.

Per seed two small heads, photo 1344-512-256 and text 384-256, are trained on the catalogue's own
pairs of a photo and a short text of the same item, never on queries. Symmetric cross-entropy with
soft targets: items whose texts are alike are not each other's negatives. About 9 s a seed for
2,187 items on two cores. The heads know the items they were fitted on: refit them when the
catalogue changes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adamroute.config import AlignConfig
from adamroute.models.photos import NETWORK_DIMENSIONS
from adamroute.progress import Advance, Progress
from adamroute.shop.catalogue import Item

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

Array = NDArray[np.float32]

BATCH = 512
MIN_STEPS = 4  # an epoch; a small shop gets smaller batches, not fewer steps
LEARNING_RATE = 1e-3
WEIGHT_DECAY = 0.1
TEMPERATURE = 0.07  # of the heads' similarities at the start; learned from there
TARGET_TEMPERATURE = 0.07  # of the text similarities that make the soft targets
PHOTO_INPUT_DROPOUT = 0.2  # measured in EXPERIMENTS: without both input dropouts .64, with .66
TEXT_INPUT_DROPOUT = 0.2
CLIP = 8.0  # standard deviations a feature may lie from its mean
CLAUSE_END = re.compile(r"[.;,!?]")


def text_views(item: Item) -> tuple[str, str]:
    """The two short texts a photo is paired with: "colour type", "colour type. first clause".

    Visual values and category make the first; a shop without them falls back to the title. The
    clause is the first of the listing behind its title.
    """
    looks = " ".join(item.visual.values()).replace(",", " ")
    head = " ".join(part for part in (looks, item.category) if part) or item.title or item.text
    rest = item.text.removeprefix(item.title).lstrip(" .,;:-")
    clause = CLAUSE_END.split(rest, maxsplit=1)[0].strip()
    return head, f"{head}. {clause}" if clause else head


@dataclass(frozen=True)
class Heads:
    """Heads of all seeds. S seeds, N items, D text dimensions, H dimensions a head."""

    photo_vectors: Array  # [N, S * H], each seed's part of unit length; NaN without a photo
    text_weights: Array  # [S, H, D]
    text_bias: Array  # [S, H]


def fit_heads(
    features: Array,
    views: Array,
    config: AlignConfig,
    *,
    seed: int,
    threads: int,
    progress: Progress,
) -> Heads:
    """Fit on photo features [N, 1344] (NaN rows are left out) and view vectors [N, V, D].

    Runs of the seeds seed, seed + 1, ... lie side by side in the result, which averages their
    scores. Same input and thread count, same bytes.
    """
    import torch

    torch.set_num_threads(threads)
    seen = ~np.isnan(features).any(axis=1)
    width = config.dimensions
    photo = np.full((len(features), config.seeds, width), np.nan, np.float32)
    weights = np.zeros((config.seeds, width, views.shape[2]), np.float32)
    bias = np.zeros((config.seeds, width), np.float32)
    if seen.any():
        inputs = standardised(features[seen])
        with progress.task("alignment heads", total=config.seeds * config.epochs) as advance:
            for s in range(config.seeds):
                pair = _fit_pair(inputs, views[seen], config, seed + s, advance)
                photo[seen, s], weights[s], bias[s] = pair
    return Heads(photo.reshape(len(features), -1), weights, bias)


def standardised(features: Array) -> Array:
    """Each feature with mean 0 and deviation 1 over the items; the histogram as square roots."""
    network, histogram = np.split(features, [NETWORK_DIMENSIONS], axis=1)
    values = np.hstack([network, np.sqrt(histogram)])
    scaled = (values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-6)
    return np.asarray(np.clip(scaled, -CLIP, CLIP), dtype=np.float32)


def _fit_pair(
    inputs: Array, views: Array, config: AlignConfig, seed: int, advance: Advance
) -> tuple[Array, Array, Array]:
    """One seed: photo vectors [N, H], text weights [H, D], text bias [H]."""
    import torch
    from torch.nn.functional import normalize

    with torch.random.fork_rng(devices=[]):  # dropout can draw from the global generator only
        torch.manual_seed(seed)
        pair = _Pair(inputs.shape[1], views.shape[2], config)
        photos, texts = torch.from_numpy(inputs), torch.from_numpy(views)
        batch = max(1, min(BATCH, len(inputs) // MIN_STEPS))
        steps = len(inputs) // batch
        optimiser, schedule = pair.optimiser(config.epochs * steps)
        for _ in range(config.epochs):
            order = torch.randperm(len(inputs))
            for rows in order[: steps * batch].view(steps, batch):
                view = torch.randint(0, views.shape[1], (len(rows),))
                optimiser.zero_grad()
                pair.loss(photos[rows], texts[rows, view]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                schedule.step()
            advance(1)
        pair.photo.eval()
        with torch.inference_mode():
            vectors = normalize(pair.photo(photos)).numpy()
    head = pair.text_head
    return vectors, head.weight.detach().numpy(), head.bias.detach().numpy()


class _Pair:
    """A photo head, a text head and the learned scale of their similarities."""

    def __init__(self, features: int, dimensions: int, config: AlignConfig) -> None:
        import torch
        from torch import nn

        self.photo = nn.Sequential(
            nn.Dropout(PHOTO_INPUT_DROPOUT),
            nn.Linear(features, config.hidden),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            nn.Linear(config.hidden, config.dimensions),
        )
        self.text_head = nn.Linear(dimensions, config.dimensions)
        self.text = nn.Sequential(nn.Dropout(TEXT_INPUT_DROPOUT), self.text_head)
        self.log_scale = nn.Parameter(torch.tensor(-math.log(TEMPERATURE)))

    def optimiser(self, steps: int) -> tuple[Optimizer, LRScheduler]:
        """AdamW with a one-cycle schedule over `steps`."""
        import torch

        heads = [*self.photo.parameters(), *self.text.parameters()]
        optimiser = torch.optim.AdamW(
            [
                {"params": heads, "weight_decay": WEIGHT_DECAY},
                {"params": [self.log_scale], "weight_decay": 0.0},
            ],
            lr=LEARNING_RATE,
        )
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, LEARNING_RATE, total_steps=steps, pct_start=0.1
        )
        return optimiser, schedule

    def loss(self, photos: Tensor, texts: Tensor) -> Tensor:
        """Symmetric cross-entropy; an item's target is shared among the items of like text."""
        import torch
        from torch.nn.functional import cross_entropy, normalize

        logits = normalize(self.photo(photos)) @ normalize(self.text(texts)).T
        logits = logits * self.log_scale.exp()
        with torch.no_grad():
            targets = (texts @ texts.T / TARGET_TEMPERATURE).softmax(dim=1)
        return (cross_entropy(logits, targets) + cross_entropy(logits.T, targets)) / 2
