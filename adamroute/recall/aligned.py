"""The embedded multimodal branch at query time: numpy only, no photo tower, no torch.

A query is scored against each item in two parts, its text and its photo (the mean over the seeds
of the contrastive heads). Each part is standardised over the catalogue and they are added with
fixed weights (DESIGN, section 4). For FAISS this is *one* inner product: the item vector
concatenates e_txt and the photo heads, the query vector scales each part by its weight over that
part's standard deviation. That deviation is sqrt(q' C q) with C the stored covariance of the
item vectors, so no pass over the items is needed; the mean shifts all items alike and is left
out. The query vector is brought to unit length, which changes no order and keeps scores within
the norm of the item vectors (ties are an absolute 1e-6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from adamroute.errors import ArtifactError
from adamroute.recall.encoders import Vectors

Array = NDArray[np.float32]
Covariance = NDArray[np.float64]


@dataclass(frozen=True)
class QuerySide:
    """All that the query side needs, fitted on catalogue rows.

    S seeds, D text dimensions, H dimensions a head.
    """

    weights: Array  # [S, H, D]
    bias: Array  # [S, H]
    text_covariance: Covariance  # [D, D] of the items' text vectors
    photo_covariance: Covariance  # [S * H, S * H] of the items' photo vectors
    text_weight: float  # share of the text part in the fused score, 0 to 1

    def save(self, path: Path) -> None:
        """Write as .npz without pickle."""
        np.savez(
            path,
            weights=self.weights,
            bias=self.bias,
            text_covariance=self.text_covariance,
            photo_covariance=self.photo_covariance,
            text_weight=np.array(self.text_weight),
        )

    @classmethod
    def load(cls, path: Path) -> QuerySide:
        """ArtifactError where the file is missing or cut short."""
        try:
            # Opened here, since numpy leaves a damaged file open.
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                return cls(
                    weights=arrays["weights"],
                    bias=arrays["bias"],
                    text_covariance=arrays["text_covariance"],
                    photo_covariance=arrays["photo_covariance"],
                    text_weight=float(arrays["text_weight"]),
                )
        except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
            raise ArtifactError(f"{path}: {error}. Rebuild: adamroute build CONFIG") from error


def fuse_items(text_vectors: Vectors, photo_vectors: Array) -> Vectors:
    """Item side: [N, D] and [N, S * H] side by side.

    A row of NaN is an item without a photo: it gets the mean photo vector, whose score is the mean
    score, so such an item is neither favoured nor hidden by its missing photo.
    """
    missing = np.asarray(np.isnan(photo_vectors).any(axis=1))
    if missing.all():
        filled = np.zeros_like(photo_vectors)
    else:
        mean = photo_vectors[~missing].mean(axis=0)
        filled = np.where(missing[:, None], mean, photo_vectors)
    return np.ascontiguousarray(np.hstack([text_vectors, filled]), dtype=np.float32)


def covariance(vectors: Array) -> Covariance:
    """[D, D] covariance over rows."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0, dtype=np.float64)
    return np.asarray(centred.T @ centred / len(vectors))


class AlignedPhotoEncoder:
    """MultimodalEncoder of the embedded default."""

    def __init__(self, side: QuerySide, name: str = "aligned-photo") -> None:
        self._side = side
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        seeds, head, text = self._side.weights.shape
        return int(text + seeds * head)

    def encode_queries(self, texts: Sequence[str], text_vectors: Vectors) -> Vectors:
        """[B, D + S * H] float32 of unit length. Only the vectors are read here."""
        side = self._side
        if text_vectors.shape != (len(texts), side.weights.shape[2]):
            raise ArtifactError(
                f"aligned-photo: text vectors {text_vectors.shape} for {len(texts)} texts, wanted "
                f"{side.weights.shape[2]} dimensions. Rebuild: adamroute build CONFIG"
            )
        # vecdot here and below: one dot product at a time. A matrix product of this size is no
        # faster, but wakes BLAS threads that wait for a core whenever the machine is busy, and
        # its last bits depend on the batch.
        heads = np.vecdot(side.weights, text_vectors[:, None, None, :]) + side.bias
        photo = _unit(heads).reshape(len(texts), self.dimensions - text_vectors.shape[1])
        parts = (
            side.text_weight * _standardised(text_vectors, side.text_covariance),
            (1.0 - side.text_weight) * _standardised(photo, side.photo_covariance),
        )
        return _unit(np.hstack(parts)).astype(np.float32)


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.floating]:
    """Length 1 along the last axis; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0.0, norms, 1.0))


def _standardised(queries: NDArray[np.floating], spread: Covariance) -> NDArray[np.float64]:
    """Queries [B, D] scaled so that their scores over the items have standard deviation 1.

    A part that is the same for every item (no photos at all) cannot rank and is set to 0.
    """
    exact = queries.astype(np.float64)
    deviation = np.sqrt(np.maximum(np.vecdot(np.vecdot(spread, exact[:, None, :]), exact), 0.0))
    scale = np.where(deviation > 1e-9, 1.0 / np.maximum(deviation, 1e-9), 0.0)
    return np.asarray(exact * scale[:, None])
