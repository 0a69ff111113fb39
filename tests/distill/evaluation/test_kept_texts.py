"""An encoder that asks another one about each text once, over processes too."""

from pathlib import Path

import numpy as np

from adamroute.distill.evaluation.kept_texts import KeptTexts
from tests.distill.market import BagOfWords


def test_a_text_is_encoded_once_and_its_vector_is_the_encoders(tmp_path: Path) -> None:
    bag = BagOfWords()
    memory = KeptTexts(bag, tmp_path)
    got = memory.encode(["red rug", "blue lamp", "red rug"])
    assert np.array_equal(got, BagOfWords().encode(["red rug", "blue lamp", "red rug"]))
    assert np.array_equal(memory.encode(["blue lamp"]), got[[1]])
    assert bag.seen == ["red rug", "blue lamp"]
    assert (memory.name, memory.dimensions) == (bag.name, bag.dimensions)


def test_what_was_saved_is_known_to_the_next_process(tmp_path: Path) -> None:
    first = KeptTexts(BagOfWords(), tmp_path)
    vectors = first.encode(["red rug", "green vase"])
    first.save()
    bag = BagOfWords()
    again = KeptTexts(bag, tmp_path).encode(["green vase", "a new one"])
    assert np.array_equal(again[0], vectors[1])
    assert bag.seen == ["a new one"]
    assert not list(tmp_path.glob("*.partial"))


def test_another_encoders_memory_is_not_read(tmp_path: Path) -> None:
    first = KeptTexts(BagOfWords(), tmp_path)
    first.encode(["red rug"])
    first.save()
    other = BagOfWords(name="another")
    KeptTexts(other, tmp_path).encode(["red rug"])
    assert other.seen == ["red rug"]


def test_a_damaged_file_counts_as_empty(tmp_path: Path) -> None:
    memory = KeptTexts(BagOfWords(), tmp_path)
    memory.encode(["red rug"])
    memory.save()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:40])
    bag = BagOfWords()
    KeptTexts(bag, tmp_path).encode(["red rug"])
    assert bag.seen == ["red rug"]


def test_no_text_gives_no_row_and_nothing_known_writes_no_file(tmp_path: Path) -> None:
    memory = KeptTexts(BagOfWords(), tmp_path)
    assert memory.encode([]).shape == (0, 256)
    memory.save()
    assert not list(tmp_path.iterdir())
