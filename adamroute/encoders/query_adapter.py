"""Query adapters, and the embedded multimodal branch: one space of 384 numbers for words and
photos; numpy only.

Texts are placed by taking off the mean of the catalogue's short texts and flattening the spread a
little, both of which all listings of one shop share and no query asks for. An item is the sum of
its listing, its looks ("colour type") and what its photo was found to say (adamroute.encoders.
alignment), weighted and brought to unit length. A query is placed the same way and corrected by a
linear map fitted on queries written from the catalogue, which learns to overlook how one asks.
For FAISS all of this is *one* inner product of unit vectors (DESIGN, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import read_arrays
from adamroute.encoders.seams import Vectors
from adamroute.errors import ArtifactError

Array = NDArray[np.float32]

QUERY_ADAPTER_FILE = "query_side.npz"
TEXT_ADAPTER_FILE = "text_side.npz"  # of the text branch, where one helps
FLATTENING = 0.1  # power of the inverse covariance; 0 leaves the spread, .5 makes it a ball
FLOOR = 1e-3  # added to the variances, those of unit vectors in 384 dimensions being about 2e-3
RIDGE = 30.0  # written queries that "no correction" counts as
TEXT_RIDGE = 10.0  # the same in the text branch, where two queries an item are written


@dataclass(frozen=True)
class WhitenedSpace:
    """Where texts are compared. D text dimensions."""

    mean: Array  # [D]
    flatten: Array  # [D, D]

    @classmethod
    def fit(cls, vectors: Array) -> WhitenedSpace:
        """From short texts of a catalogue, [M, D]."""
        exact = vectors.astype(np.float64)
        mean = exact.mean(axis=0)
        centred = exact - mean
        variances, axes = np.linalg.eigh(centred.T @ centred / len(exact))
        scales = (np.maximum(variances, 0.0) + FLOOR) ** -FLATTENING
        flatten = (axes * scales) @ axes.T
        return cls(mean.astype(np.float32), flatten.astype(np.float32))

    def place(self, vectors: Array) -> Array:
        """[..., D] to unit vectors of the same shape."""
        return unit((vectors - self.mean) @ self.flatten)


def fuse_items(listing: Array, looks: Array, photos: Array, text: float, look: float) -> Vectors:
    """Item side, [N, D] of unit length, from placed parts and the shares of the first two.

    A row of zeros among `photos` is an item without one, which then counts by its words alone.
    """
    return unit(text * listing + look * looks + (1.0 - text - look) * photos)


@dataclass(frozen=True)
class QueryAdapter:
    """All that the query side needs: the query vector is unit(weights @ (e_txt - mean))."""

    mean: Array  # [D]
    weights: Array  # [D, D]

    @classmethod
    def fit(
        cls, space: WhitenedSpace, asked: Array, items: Vectors, ridge: float = RIDGE
    ) -> QueryAdapter:
        """Ridge regression from placed queries written of items to those items' vectors.

        `asked` is e_txt, [N, D]; row n asks for row n of `items`. It starts from "no correction",
        which counts as `ridge` queries.
        """
        placed = space.place(asked).astype(np.float64)
        size = placed.shape[1]
        gram = placed.T @ placed + ridge * np.eye(size)
        correction = np.linalg.solve(gram, placed.T @ (items - placed))
        weights = (space.flatten @ (np.eye(size) + correction)).T
        return cls(space.mean, np.ascontiguousarray(weights, dtype=np.float32))

    def place(self, vectors: Vectors) -> Vectors:
        """E_txt of queries, [B, D], to unit vectors among the items."""
        # vecdot: one dot product at a time. A matrix product of this size is no faster, but wakes
        # BLAS threads that wait for a core whenever the machine is busy, and its last bits depend
        # on the batch.
        return unit(np.vecdot(self.weights, (vectors - self.mean)[:, None, :]))

    def save(self, path: Path) -> None:
        """Write as .npz without pickle."""
        np.savez(path, mean=self.mean, weights=self.weights)

    @classmethod
    def load(cls, path: Path) -> QueryAdapter:
        """ArtifactError where the file is missing, cut short or of an earlier version."""
        try:
            arrays = read_arrays(path)
            return cls(mean=arrays["mean"], weights=arrays["weights"])
        except (OSError, KeyError, ValueError) as error:
            raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error


class AlignedPhotoEncoder:
    """MultimodalEncoder of the embedded default."""

    def __init__(self, side: QueryAdapter, name: str = "aligned-photo") -> None:
        self._side = side
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return len(self._side.mean)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:
        """[B, D] float32 of unit length. Only the vectors are read here."""
        if text_vectors.shape != (len(texts), self.dimensions):
            raise ArtifactError(
                f"aligned-photo: text vectors {text_vectors.shape} for {len(texts)} texts, wanted "
                f"{self.dimensions} dimensions. Rebuild: adamroute build CONFIG"
            )
        return self._side.place(text_vectors)


def unit(vectors: NDArray[np.floating]) -> Array:
    """Length 1 along the last axis; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0.0, norms, 1.0), dtype=np.float32)
