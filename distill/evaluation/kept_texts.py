"""A text encoder that remembers, so that folds and repeated reports encode a text once.

Folds ask the same queries again, and a teacher that is changed and measured anew writes mostly
the same pseudo-queries: on the ikea shop the ranks of 3,000 synthetic requests took 64 s in the
first of five folds and 1 s in each of the others (a busy machine).
A vector depends on its batch by float32 rounding only (1e-7), so numbers agree to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adamroute.encoders.seams import TextEncoder, Vectors
from adamroute.encoders.vector_file import read_vectors, text_key, write_vectors
from adamroute.stages import digest


class KeptTexts:
    """TextEncoder over another; `save` keeps what it knows for the next process."""

    def __init__(self, encoder: TextEncoder, folder: Path) -> None:
        self._encoder = encoder
        self._path = folder / f"queries-{digest(encoder.name)}.npz"
        self._known = read_vectors(self._path)

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's, each text once."""
        keys = [text_key(text) for text in texts]
        new = {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}
        if new:
            self._known |= zip(new, self._encoder.encode(list(new.values())), strict=True)
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        return np.stack([self._known[key] for key in keys])

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """The encoder's own: listings are not asked twice."""
        return self._encoder.encode_items(texts)

    def save(self) -> None:
        """Write all that is known, whole or not at all."""
        write_vectors(self._path, self._known)
