"""LoRA training with the real SFTTrainer, on a tiny random Llama."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adamroute.catalogue.request import PreferenceProfile
from adamroute.config import StudentConfig
from adamroute.routing.backbone import encoder_of, load_backbone
from adamroute.routing.lora_student import LoraStudent
from adamroute.routing.student import RoutingInput
from adamroute.routing.student_prompt import PromptRenderer
from adamroute.theta import Bins, Theta
from adamroute.training.dataset import TrainingSet
from adamroute.training.lora_fit import Collator, LoraRun, answer_log_probs, plan_run, train_lora
from tests.leanings import AS_MEAN
from tests.routing.tiny_backbone import write_tiny_llama

BINS = Bins(40)
LOOKS, USES = ("round", "green", "wavy", "shiny"), ("foldable", "USB", "washable", "timer")
PROFILE = PreferenceProfile(("natural wood",))
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*torch.jit.*is deprecated.*:DeprecationWarning",
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_llama(tmp_path_factory.mktemp("llama"))


def two_kinds(rows: int) -> TrainingSet:
    """Queries about looks want photos and K = 20, queries about use want text and K = 40."""
    rng = np.random.default_rng(0)
    soft = np.full((rows, *BINS.shape), 0.002)
    queries = []
    for row in range(rows):
        words = LOOKS if row % 2 else USES
        queries.append(f"{rng.choice(words)} {rng.choice(words)} {rng.choice(['rug', 'lamp'])}")
        soft[(row, 2, 0) if row % 2 else (row, 8, 1)] = 1.0
    soft /= soft.sum(axis=(1, 2), keepdims=True)
    users = tuple(f"u{row}" for row in range(rows))
    return TrainingSet(tuple(queries), (PROFILE,) * rows, users, soft, np.ones(rows))


def settings(checkpoint: Path, **other: Any) -> StudentConfig:
    base = {"backbone": str(checkpoint), "layers": 2, "steps": 3, "batch": 4}
    return StudentConfig.model_validate({**base, **other})


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The last bits of a sum depend on how many threads share it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(checkpoint: Path, config: StudentConfig, rows: TrainingSet, seed: int = 0) -> LoraRun:
    return train_lora(load_backbone(str(checkpoint), 2), rows, config, BINS, seed=seed)


def adapter(run: LoraRun) -> dict[str, np.ndarray]:
    return {
        name: weights.detach().numpy().copy()
        for name, weights in run.model.named_parameters()
        if "lora_" in name
    }


def test_a_toy_task_of_two_kinds_is_learned(checkpoint: Path) -> None:
    config = settings(checkpoint, steps=120, batch=8, learning_rate=1e-2)
    backbone = load_backbone(str(checkpoint), 2)
    run = train_lora(backbone, two_kinds(96), config, BINS, seed=0)
    student = LoraStudent.of(
        backbone, run.model.merge_and_unload(), 64, BINS, run.tokens, leaning=AS_MEAN
    )
    looks = student.predict([RoutingInput("green wavy rug", PROFILE, np.zeros(1, np.float32))])[0]
    use = student.predict([RoutingInput("washable USB lamp", PROFILE, np.zeros(1, np.float32))])[0]
    assert (looks.theta, use.theta) == (Theta(0.2, 20), Theta(0.8, 40))
    first, *_, last = [row for row in run.history if "loss" in row]
    assert last["bin_accuracy"] == 1.0
    # 32 dimensions cannot give all mass to two of 49,152 tokens; from nothing to a tenth is much.
    assert first["bin_mass"] < 0.001
    assert last["bin_mass"] > 0.05


def test_equal_seeds_give_equal_weights_and_other_seeds_do_not(checkpoint: Path) -> None:
    config, rows = settings(checkpoint), two_kinds(20)
    first, again, other = (adapter(trained(checkpoint, config, rows, s)) for s in (1, 1, 2))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def test_head_and_embeddings_stay_as_they_were(checkpoint: Path) -> None:
    run = trained(checkpoint, settings(checkpoint), two_kinds(20))
    learned = [name for name, weights in run.model.named_parameters() if weights.requires_grad]
    assert learned
    assert all("lora_" in name for name in learned)
    assert not any("lm_head" in name or "embed" in name for name in learned)
    assert sum("lora_A" in name for name in learned) == 2 * 7  # layers times projections


def test_the_loss_is_cross_entropy_at_two_positions_worked_by_hand(checkpoint: Path) -> None:
    """The first logged loss is that of the untouched model: LoRA's B starts at zero."""
    import torch

    rows, config = two_kinds(20), settings(checkpoint, steps=1)
    backbone = load_backbone(str(checkpoint), 2)
    encode = encoder_of(backbone.tokenizer)
    plan = plan_run(rows, encode, config, BINS, np.random.default_rng(0))
    expected = []
    for example in plan.examples:
        with torch.inference_mode():
            logits = backbone.model(torch.tensor([example.ids])).logits[0, -2:].double()
        log_probs = torch.log_softmax(logits, dim=-1).numpy()
        expected.append(
            -example.alpha @ log_probs[0, list(plan.tokens.alphas)]
            - example.budget @ log_probs[1, list(plan.tokens.budgets)]
        )
    run = train_lora(backbone, rows, config, BINS, seed=0)
    assert run.history[0]["loss"] == pytest.approx(np.mean(expected), rel=1e-4)


def test_a_plan_draws_alpha_tokens_from_the_marginal_and_budgets_given_them(
    checkpoint: Path,
) -> None:
    soft = np.zeros((1, *BINS.shape))
    soft[0, 2, 0], soft[0, 8, 1] = 0.25, 0.75
    one = TrainingSet(("rug",), (PROFILE,), ("u",), soft, np.ones(1))
    encode = encoder_of(load_backbone(str(checkpoint), 2).tokenizer)
    config = settings(checkpoint, steps=100)
    plan = plan_run(one, encode, config, BINS, np.random.default_rng(0))
    drawn = [example.ids[-1] for example in plan.examples]
    assert set(drawn) == {plan.tokens.alphas[2], plan.tokens.alphas[8]}
    assert np.mean(np.array(drawn) == plan.tokens.alphas[8]) == pytest.approx(0.75, abs=0.07)
    for example in plan.examples:
        photo = example.ids[-1] == plan.tokens.alphas[2]
        assert example.budget.tolist() == ([1.0, 0.0] if photo else [0.0, 1.0])
        assert example.alpha[[2, 8]].tolist() == [0.25, 0.75]
    assert plan.counts["draws"] == 400
    assert plan.counts["rows_seen"] == plan.counts["rows"] == 1


def test_best_bin_training_puts_all_mass_on_one_bin(checkpoint: Path) -> None:
    encode = encoder_of(load_backbone(str(checkpoint), 2).tokenizer)
    config = settings(checkpoint, loss="best_bin")
    plan = plan_run(two_kinds(8), encode, config, BINS, np.random.default_rng(0))
    assert all(example.alpha.max() == example.budget.max() == 1.0 for example in plan.examples)


def test_train_and_serve_prompts_are_equal_to_the_byte(checkpoint: Path) -> None:
    rows = two_kinds(20)
    backbone = load_backbone(str(checkpoint), 2)
    encode = encoder_of(backbone.tokenizer)
    config = settings(checkpoint)
    plan = plan_run(rows, encode, config, BINS, np.random.default_rng(0))
    student = LoraStudent.of(
        backbone, backbone.model, config.max_tokens, BINS, plan.tokens, leaning=AS_MEAN
    )
    served = {tuple(student.render.ids(q, PROFILE)) for q in rows.queries}
    assert {tuple(example.ids[:-1]) for example in plan.examples} <= served
    assert isinstance(student.render, PromptRenderer)


def test_padding_changes_nothing(checkpoint: Path) -> None:
    import torch

    model = load_backbone(str(checkpoint), 2).model
    rows = [
        {"input_ids": [5, 6, 7], "alpha": [1.0], "budget": [1.0]},
        {"input_ids": [8, 9, 10, 11, 12, 13], "alpha": [1.0], "budget": [1.0]},
    ]
    both = Collator(pad_id=0)(rows)
    assert both["ends"].tolist() == [2, 5]
    with torch.inference_mode():
        together = answer_log_probs(model, both["input_ids"], both["ends"])
        alone = Collator(pad_id=0)(rows[:1])
        short = answer_log_probs(model, alone["input_ids"], alone["ends"])
    assert torch.allclose(together[0], short[0], atol=1e-5)
