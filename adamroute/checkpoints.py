"""Checkpoints by hub id or folder: found here, downloaded only where that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adamroute.errors import ModelError
from adamroute.stages import digest, file_hash

# What a checkpoint needs; a hub repository may hold the same weights in other formats as well.
FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt")
WEIGHTS = "*.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A folder of weights, and what manifests call it."""

    folder: Path
    name: str  # "Qwen/Qwen3-Embedding-0.6B@" and the commit, or the folder's name and its hash


def find_checkpoint(model: str, *, allow_download: bool, setting: str) -> Checkpoint:
    """The folder of a hub id or a folder; ModelError, naming the `setting`, where there is none.

    A folder is named by the sha256 of its files: about a second for each GB, so that other weights
    under the same path are never taken for those that an index was built with.
    """
    folder = Path(model)
    if folder.is_dir():
        return Checkpoint(folder, f"{folder.resolve().name}@{_content(folder, setting)}")
    snapshot = _snapshot(model, allow_download, setting)
    return Checkpoint(snapshot, f"{model}@{snapshot.name[:16]}")


def device() -> str:
    """cuda where there is one that this process may use, else cpu."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _content(folder: Path, setting: str) -> str:
    files = sorted(path for kind in ("*.json", WEIGHTS) for path in folder.rglob(kind))
    if not any(path.match(WEIGHTS) for path in files):
        raise ModelError(
            f"{setting}: {folder} holds no {WEIGHTS}, so it is no checkpoint. "
            "Give a hub id or a folder that save_pretrained wrote"
        )
    return digest({path.relative_to(folder).as_posix(): file_hash(path) for path in files})


def _snapshot(model: str, allow_download: bool, setting: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        found = snapshot_download(
            model, local_files_only=not allow_download, allow_patterns=list(FILES)
        )
    except (HFValidationError, HfHubHTTPError, OSError, ValueError) as error:
        step = (
            "Check the name and the network"
            if allow_download
            else f"Download it first (hf download {model}), name a folder, "
            f"or set {setting.partition('.')[0]}.allow_download: true"
        )
        raise ModelError(
            f"{setting}: '{model}' is neither a folder nor in the local cache of the hub "
            f"({type(error).__name__}). {step}"
        ) from error
    return Path(found)
