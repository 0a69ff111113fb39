"""A fitted alignment as a file: it places texts and photos, new ones too, without a refit.

numpy only. `index/alignment.npz` holds the one that an index was built with; another build can use
it by `encoders.align.artefact`, such as one learned where listings name colours.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from adamroute.array_files import read_arrays
from adamroute.encoders.query_adapter import WhitenedSpace, unit
from adamroute.errors import ArtifactError

Array = NDArray[np.float32]

CLIP = 8.0  # standard deviations a feature may lie from its mean
FORMAT = 1


@dataclass(frozen=True)
class ProjectionHead:
    """From P photo features by C components and S small networks to D text dimensions."""

    mean: Array  # [P]
    scale: Array  # [P]
    basis: Array  # [P, C]
    hidden: Array  # [S, H, C]
    hidden_bias: Array  # [S, H]
    out: Array  # [S, D, H]
    out_bias: Array  # [S, D]

    @classmethod
    def blind(cls, features: int, dimensions: int) -> ProjectionHead:
        """Of a shop without photos: no network, every photo is placed at zero."""
        return cls(
            mean=np.zeros(features, np.float32),
            scale=np.ones(features, np.float32),
            basis=np.zeros((features, 0), np.float32),
            hidden=np.zeros((0, 0, 0), np.float32),
            hidden_bias=np.zeros((0, 0), np.float32),
            out=np.zeros((0, dimensions, 0), np.float32),
            out_bias=np.zeros((0, dimensions), np.float32),
        )

    def place(self, features: Array) -> Array:
        """[N, D] unit vectors, the mean of the networks' answers; zeros where a row is NaN."""
        placed = np.zeros((len(features), self.out.shape[1]), np.float32)
        seen = ~np.isnan(features).any(axis=1)
        components = standardised(features[seen], self.mean, self.scale) @ self.basis
        parts = (self.hidden, self.hidden_bias, self.out, self.out_bias)
        for hidden, hidden_bias, out, out_bias in zip(*parts, strict=True):
            inner = np.maximum(components @ hidden.T + hidden_bias, 0.0)
            placed[seen] += unit(inner @ out.T + out_bias)
        return unit(placed)


def standardised(features: Array, mean: Array, scale: Array) -> Array:
    """[N, P] with mean 0 and deviation 1 over the items of the fit, far outliers cut off."""
    return np.asarray(np.clip((features - mean) / scale, -CLIP, CLIP), dtype=np.float32)


@dataclass(frozen=True)
class Alignment:
    """The common space of texts and photos, and the names of the encoders it was fitted on."""

    space: WhitenedSpace
    head: ProjectionHead
    text_encoder: str
    photo_features: str

    def save(self, path: Path) -> None:
        """Write as .npz without pickle, about 10 MB."""
        names = np.array([self.text_encoder, self.photo_features])
        np.savez(path, format=np.array(FORMAT), names=names, **vars(self.space), **{
            f"head_{name}": array for name, array in vars(self.head).items()
        })  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> Alignment:
        """ArtifactError where the file is missing, damaged or of another format."""
        try:
            arrays = read_arrays(path)
            if int(arrays["format"]) != FORMAT:
                raise ValueError(f"format {int(arrays['format'])}, wanted {FORMAT}")
            head = ProjectionHead(
                **{name: arrays[f"head_{name}"] for name in ProjectionHead.__dataclass_fields__}
            )
            text_encoder, photo_features = arrays["names"].tolist()
            space = WhitenedSpace(arrays["mean"], arrays["flatten"])
            return cls(space, head, text_encoder, photo_features)
        except (OSError, KeyError, ValueError) as error:
            raise ArtifactError(
                f"{path}: no alignment that this version reads ({error}). Give the alignment.npz "
                "of a finished index, or drop encoders.align.artefact to fit one here"
            ) from error

    def check(self, path: Path, text_encoder: str, photo_features: str) -> None:
        """ArtifactError where it was fitted on vectors of other encoders than these."""
        for fitted, used in (
            (self.text_encoder, text_encoder),
            (self.photo_features, photo_features),
        ):
            if fitted != used:
                raise ArtifactError(
                    f"{path}: fitted on '{fitted}', but this build uses '{used}'. Give an "
                    "alignment of the same encoders, or drop encoders.align.artefact"
                )
