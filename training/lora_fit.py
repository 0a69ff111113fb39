"""LoRA training of the student with TRL's SFTTrainer, on soft labels over theta's bins.

Cost, 2 CPU cores: see EXPERIMENTS.md for seconds a step. The full head (49,152 tokens) is read at
the two positions that answer, never at the prompt's, which halves a step.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adamroute.config import StudentConfig
from adamroute.errors import LabelError
from adamroute.progress import Advance
from adamroute.routing.backbone import Backbone, encoder_of
from adamroute.routing.student_prompt import BinTokens, Encode, PromptRenderer, bin_tokens
from adamroute.theta import Bins
from adamroute.training.dataset import TrainingSet, best_bin_labels, draw_order

WARMUP = 0.06  # share of the steps
LOG_EVERY = 10  # steps


@dataclass(frozen=True)
class LoraRun:
    """A trained adapter and what the run measured."""

    model: Any  # peft.PeftModel
    tokens: BinTokens
    history: tuple[Mapping[str, float], ...]  # one row a logged step
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Prompted:
    """One draw: prompt ids plus the alpha token that was drawn, and the two target rows."""

    ids: list[int]
    alpha: NDArray[np.float64]  # [A] marginal of the soft label
    budget: NDArray[np.float64]  # [K] given the drawn alpha


@dataclass(frozen=True)
class Plan:
    """Everything a run will see, in order; what is random about the data is decided here."""

    examples: tuple[Prompted, ...]  # [steps * batch]
    tokens: BinTokens
    counts: Mapping[str, int]


def plan_run(
    rows: TrainingSet,
    encode: Encode,
    config: StudentConfig,
    bins: Bins,
    rng: np.random.Generator,
) -> Plan:
    """Draw rows by weight (`draw_order`); each time one comes up its alpha token is drawn anew.

    LabelError where a prompt is longer than it may be, which would be our own mistake.
    """
    tokens = bin_tokens(encode, bins)
    soft = best_bin_labels(rows.soft, bins) if config.loss == "best_bin" else rows.soft
    render = PromptRenderer(encode, config.max_tokens)
    prompts = [render.ids(q, p) for q, p in zip(rows.queries, rows.profiles, strict=True)]
    lengths = np.array([len(ids) for ids in prompts])
    if lengths.max() > config.max_tokens:
        raise LabelError(f"prompt of {lengths.max()} tokens, at most {config.max_tokens} allowed")
    order = draw_order(rows.weights, lengths, steps=config.steps, batch=config.batch, rng=rng)
    counts = {
        "rows": len(rows),
        "rows_seen": len(np.unique(order)),
        "draws": len(order),
        "steps": config.steps,
        "prompt_tokens_max": int(lengths.max()),
        "prompt_tokens_mean": round(float(lengths.mean())),
    }
    return Plan(tuple(_example(soft[r], prompts[r], tokens, rng) for r in order), tokens, counts)


def _example(
    soft: NDArray[np.float64], prompt: list[int], tokens: BinTokens, rng: np.random.Generator
) -> Prompted:
    marginal = soft.sum(axis=1) / soft.sum()
    drawn = int(rng.choice(len(marginal), p=marginal))
    given = soft[drawn] / soft[drawn].sum()
    return Prompted([*prompt, tokens.alphas[drawn]], marginal, given)


def train_lora(
    backbone: Backbone,
    rows: TrainingSet,
    config: StudentConfig,
    bins: Bins,
    *,
    seed: int,
    advance: Advance = lambda _: None,
    report_to: Sequence[str] = (),
) -> LoraRun:
    """Train an adapter on the backbone, which is wrapped in place; equal seeds, equal weights."""
    encode = encoder_of(backbone.tokenizer)
    plan = plan_run(rows, encode, config, bins, np.random.default_rng(seed))
    history: list[Mapping[str, float]] = []
    with tempfile.TemporaryDirectory() as scratch:
        trainer = _soft_trainer_class()(
            model=backbone.model,
            args=_settings(config, scratch, seed, report_to),
            train_dataset=_dataset(plan.examples),
            processing_class=_tokenizer(backbone),
            peft_config=_lora(config),
            data_collator=Collator(backbone.pad_id),
        )
        trainer.tokens = plan.tokens
        _watch(trainer, advance, history)
        trainer.train()
    return LoraRun(trainer.model.eval(), plan.tokens, tuple(history), plan.counts)


def _settings(config: StudentConfig, scratch: str, seed: int, report_to: Sequence[str]) -> Any:
    import torch
    from trl import SFTConfig

    return SFTConfig(
        output_dir=scratch,
        max_steps=config.steps,
        per_device_train_batch_size=config.batch,
        gradient_accumulation_steps=1,
        gradient_checkpointing=False,  # would run each forward pass twice to save memory
        learning_rate=config.learning_rate,
        warmup_steps=round(WARMUP * config.steps),
        lr_scheduler_type="cosine",
        weight_decay=0.0,
        max_grad_norm=1.0,
        seed=seed,
        data_seed=seed,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,
        packing=False,
        max_length=None,  # lengths are checked instead: TRL would cut the answer away
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        train_sampling_strategy="sequential",  # the draws are already in order
        dataloader_pin_memory=False,
        logging_steps=LOG_EVERY,
        logging_first_step=True,
        save_strategy="no",
        report_to=list(report_to),
        disable_tqdm=True,
    )


def _lora(config: StudentConfig) -> Any:
    from peft import LoraConfig

    return LoraConfig(
        r=config.rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules="all-linear",  # but not the head
        task_type="CAUSAL_LM",
    )


def _dataset(examples: Sequence[Prompted]) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(
        {
            "input_ids": [example.ids for example in examples],
            "alpha": [example.alpha.tolist() for example in examples],
            "budget": [example.budget.tolist() for example in examples],
        }
    )


def _tokenizer(backbone: Backbone) -> Any:
    """What TRL asks for; prompts come to it as ids, so it never tokenises anything."""
    from transformers import PreTrainedTokenizerFast

    assert backbone.pad_id != backbone.eos_id
    return PreTrainedTokenizerFast(
        tokenizer_object=backbone.tokenizer,
        eos_token=backbone.tokenizer.id_to_token(backbone.eos_id),
        pad_token=backbone.tokenizer.id_to_token(backbone.pad_id),
    )


@dataclass(frozen=True)
class Collator:
    """Pads on the right: with causal attention no real token ever sees a padded one."""

    pad_id: int

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        import torch

        longest = max(len(row["input_ids"]) for row in rows)
        padded = [
            [*row["input_ids"], *[self.pad_id] * (longest - len(row["input_ids"]))] for row in rows
        ]
        return {
            "input_ids": torch.tensor(padded),
            "ends": torch.tensor([len(row["input_ids"]) - 1 for row in rows]),
            "alpha": torch.tensor([row["alpha"] for row in rows], dtype=torch.float32),
            "budget": torch.tensor([row["budget"] for row in rows], dtype=torch.float32),
        }


def answer_log_probs(causal: Any, input_ids: Any, ends: Any) -> Any:
    """[B, 2, V] log-probabilities of the alpha token and of the token after it.

    `ends` [B] is the place of the drawn alpha token. The whole vocabulary is normalised over, so
    that mass which leaves the bins costs loss.
    """
    import torch

    hidden = causal.get_decoder()(input_ids=input_ids, use_cache=False).last_hidden_state
    row = torch.arange(len(ends), device=ends.device)[:, None]
    answers = hidden[row, torch.stack([ends - 1, ends], dim=1)]
    return torch.log_softmax(causal.get_output_embeddings()(answers).float(), dim=-1)


def _soft_trainer_class() -> Any:
    """Made on demand: TRL is imported when used, and takes 5 s to come."""
    from trl import SFTTrainer

    class SoftLabelTrainer(SFTTrainer):  # type: ignore[misc]  # TRL has no types
        """SFTTrainer whose targets are distributions over two tokens (CONTRACTS, "Soft label")."""

        tokens: BinTokens

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,  # noqa: ARG002 - the trainer's
        ) -> Any:
            causal = self.accelerator.unwrap_model(model).get_base_model()
            log_probs = answer_log_probs(causal, inputs["input_ids"], inputs["ends"])
            alpha = log_probs[:, 0, list(self.tokens.alphas)]
            budget = log_probs[:, 1, list(self.tokens.budgets)]
            loss_alpha = -(inputs["alpha"] * alpha).sum(dim=1)
            loss_budget = -(inputs["budget"] * budget).sum(dim=1)
            loss = (loss_alpha + loss_budget).mean()
            right = alpha.argmax(dim=1) == inputs["alpha"].argmax(dim=1)
            found = self._metrics["train" if model.training else "eval"]
            found["alpha_loss"].append(loss_alpha.mean().item())
            found["budget_loss"].append(loss_budget.mean().item())
            found["bin_accuracy"].append(right.float().mean().item())
            found["bin_mass"].append(alpha.exp().sum(dim=1).mean().item())
            return (loss, {"log_probs": log_probs}) if return_outputs else loss

    return SoftLabelTrainer


def _watch(trainer: Any, advance: Advance, history: list[Mapping[str, float]]) -> None:
    """Progress and numbers to us, nothing to standard output."""
    from transformers import TrainerCallback
    from transformers.trainer_callback import PrinterCallback

    class Watcher(TrainerCallback):  # type: ignore[misc]  # nor has transformers here
        def on_step_end(self, *_: Any, **__: Any) -> None:
            advance(1)

        def on_log(self, _args: Any, state: Any, _control: Any, logs: Any, **_: Any) -> None:
            history.append({"step": state.global_step, **logs})

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Watcher())
