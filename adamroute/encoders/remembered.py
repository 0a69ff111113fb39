"""A text encoder that remembers: profiles repeat from request to request, queries often do.

A vector depends on its batch by float32 rounding only (1e-7), so answers agree to that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adamroute.encoders.seams import TextEncoder, Vectors


class RememberedTexts:
    """TextEncoder over another; the texts that were asked longest ago are forgotten first."""

    def __init__(self, encoder: TextEncoder, size: int | None = 4096) -> None:
        """`size` in texts, 1.5 kB each; None forgets nothing."""
        self._encoder = encoder
        self._size = size
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's; unknown texts leave as one batch, each once."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        found = np.stack([self._known[text] for text in texts])
        for text in texts:
            self._known.move_to_end(text)
        while self._size is not None and len(self._known) > self._size:
            self._known.popitem(last=False)
        return found

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """The encoder's own: listings are not asked twice."""
        return self._encoder.encode_items(texts)
