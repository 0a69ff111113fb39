"""The encoders' seams: what a branch index needs to know of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # [B, D]


class TextEncoder(Protocol):
    """E_txt: texts to unit vectors."""

    @property
    def name(self) -> str:
        """Name and version of the weights, for manifests."""
        ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Queries, wishes and other short texts to [B, D] float32 of unit length.

        One text always gives one vector.
        """
        ...

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """Listings to [B, D]; the same as `encode` where a model knows no difference."""
        ...


class MultimodalEncoder(Protocol):
    """E_mm's query side: its vectors rank the stored items by inner product."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:
        """[B, D_mm] float32 of unit length. `text_vectors` is E_txt of the same texts."""
        ...
