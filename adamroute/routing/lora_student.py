"""The LoRA student at serve time: one pass over the prompt, one more token for the budget.

Adapter weights are merged into the backbone, the alpha is read at the prompt's last position, and
the budget after it on the cached prefix. Latency: `scripts/bench_demo.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from adamroute.checkpoints import device
from adamroute.errors import ArtifactError
from adamroute.leaning import Leaning
from adamroute.routing.backbone import Backbone, encoder_of, load_backbone
from adamroute.routing.student import Prediction, RoutingInput
from adamroute.routing.student_prompt import BinTokens, PromptRenderer, bin_tokens, prompt_version
from adamroute.stages import write_text
from adamroute.theta import Bins

if TYPE_CHECKING:
    import torch

ADAPTER = "adapter"
STUDENT_FILE = "student.json"
FORMAT = 2
BATCH = 16  # prompts a pass


class StudentFile(BaseModel):
    """What a served student must agree on with the run that trained it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    backbone: str
    layers: int
    max_tokens: int
    tau: int
    alpha_ids: tuple[int, ...]
    budget_ids: tuple[int, ...]
    prompt: str  # prompt_version() of the training run
    leaning: Leaning
    weights: str = ""  # name and hash of the backbone's; "" in files that don't say

    @property
    def tokens(self) -> BinTokens:
        return BinTokens(self.alpha_ids, self.budget_ids)


def save_adapter(folder: Path, model: Any) -> None:
    """Store a trained PEFT adapter (safetensors)."""
    model.save_pretrained(folder / ADAPTER, safe_serialization=True)
    (folder / ADAPTER / "README.md").unlink(missing_ok=True)  # PEFT's empty model card


def write_student(folder: Path, facts: StudentFile) -> None:
    """Store the facts beside the adapter."""
    write_text(folder / STUDENT_FILE, facts.model_dump_json(indent=2) + "\n")


def read_student(folder: Path) -> StudentFile:
    """Facts of a stored student; ArtifactError where they are absent or of another template."""
    path = folder / STUDENT_FILE
    try:
        facts = StudentFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise ArtifactError(
            f"{path}: no student ({error}). Delete the folder and run: adamroute train CONFIG"
        ) from error
    if facts.format != FORMAT or facts.prompt != prompt_version():
        raise ArtifactError(
            f"{path}: format {facts.format}, prompt {facts.prompt}; this version has format "
            f"{FORMAT}, prompt {prompt_version()}. Delete the folder and run: "
            "adamroute train CONFIG"
        )
    return facts


@dataclass(frozen=True)
class LoraStudent:
    """`Student` over a merged causal language model; one at a time, torch is not re-entrant."""

    model: Any  # transformers.PreTrainedModel, eval mode
    render: PromptRenderer
    tokens: BinTokens
    bins: Bins
    pad_id: int
    leaning: Leaning
    name: str = "lora"
    reads_vectors: bool = False

    @classmethod
    def load(cls, folder: Path) -> LoraStudent:
        """The student of a train stage's folder, on a GPU where this process may use one."""
        from peft import PeftModel

        facts = read_student(folder)
        backbone = load_backbone(facts.backbone, facts.layers)
        if facts.weights not in ("", backbone.weights):
            raise ArtifactError(
                f"{folder}: trained on {facts.weights}, backbone '{facts.backbone}' is now "
                f"{backbone.weights}. Delete the folder and run: adamroute train CONFIG"
            )
        merged = PeftModel.from_pretrained(backbone.model, folder / ADAPTER).merge_and_unload()
        merged = merged.to(device())
        bins, leaning = Bins(facts.tau), facts.leaning
        return cls.of(backbone, merged, facts.max_tokens, bins, facts.tokens, leaning=leaning)

    @classmethod
    def of(
        cls,
        backbone: Backbone,
        model: Any,
        max_tokens: int,
        bins: Bins,
        tokens: BinTokens,
        *,
        leaning: Leaning,
    ) -> LoraStudent:
        """From parts at hand; ArtifactError where tokenizer or bins are not those of training."""
        encode = encoder_of(backbone.tokenizer)
        found = bin_tokens(encode, bins)
        if found != tokens:
            raise ArtifactError(
                f"student: bins are tokens {tokens}, backbone '{backbone.name}' gives {found}. "
                "Delete the folder and run: adamroute train CONFIG"
            )
        render = PromptRenderer(encode, max_tokens)
        return cls(model.eval(), render, tokens, bins, backbone.pad_id, leaning)

    def predict(self, inputs: Sequence[RoutingInput]) -> list[Prediction]:
        """In batches of like length; equal to one by one up to float32 rounding (1e-4).

        A request alone has no padding and no mask: the shortest way through the model.
        """
        import torch

        prompts = [self.render.ids(x.query, x.profile) for x in inputs]
        order = sorted(range(len(prompts)), key=lambda place: len(prompts[place]))
        answers: dict[int, Prediction] = {}
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                part = order[start : start + BATCH]
                answers.update(
                    zip(part, self._answer([prompts[place] for place in part]), strict=True)
                )
        return [answers[place] for place in range(len(prompts))]

    def _answer(self, prompts: Sequence[list[int]]) -> list[Prediction]:
        import torch

        lengths = torch.tensor([len(ids) for ids in prompts])
        longest = int(lengths.max())
        padded = [[*ids, *[self.pad_id] * (longest - len(ids))] for ids in prompts]
        head = self.model.get_output_embeddings()
        read = torch.tensor(padded, device=self.model.device)
        first = self.model.get_decoder()(input_ids=read, use_cache=True)
        last = first.last_hidden_state[torch.arange(len(prompts)), lengths - 1]
        log_probs = torch.log_softmax(head(last), dim=-1)
        alphas = log_probs[:, list(self.tokens.alphas)].double().exp().cpu().numpy()
        mass = alphas.sum(axis=1)
        alphas = alphas / mass[:, None]
        chosen = [self.leaning.bin(row) for row in alphas]
        budgets = self._budgets(first.past_key_values, chosen, lengths, longest)
        return [
            Prediction(
                alpha_probs=alphas[row],
                budget_probs=budgets[row],
                theta=self.bins.theta(chosen[row], int(np.argmax(budgets[row]))),
                bin_mass=float(mass[row]),
            )
            for row in range(len(prompts))
        ]

    def _budgets(
        self, cache: Any, chosen: Sequence[int], lengths: torch.Tensor, longest: int
    ) -> NDArray[np.float64]:
        """[B, K] given each row's alpha: one token on the cached prefix, padding masked out."""
        import torch

        mask = None
        if int(lengths.min()) < longest:
            seen = torch.arange(longest + 1) < lengths[:, None]
            seen[:, longest] = True  # the token now asked about
            mask = seen.long().to(self.model.device)
        said = [[self.tokens.alphas[place]] for place in chosen]
        second = self.model.get_decoder()(
            input_ids=torch.tensor(said, device=self.model.device),
            attention_mask=mask,
            position_ids=lengths[:, None].to(self.model.device),
            past_key_values=cache,
            use_cache=True,
        )
        head = self.model.get_output_embeddings().weight[list(self.tokens.budgets)]
        logits = second.last_hidden_state[:, -1] @ head.T
        return np.asarray(torch.softmax(logits.double(), dim=-1).cpu().numpy())
