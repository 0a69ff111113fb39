"""Checkpoints by hub id or folder: found here, downloaded only where that is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adamroute.errors import ModelError
from adamroute.stages import content_hash, digest

# What a checkpoint needs; a hub repository may hold the same weights in other formats as well.
FILES = ("*.json", "*.safetensors", "*.jinja", "*.txt", "*.model")
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
    folder = checkpoint_folder(model, allow_download=allow_download, setting=setting)
    return Checkpoint(folder, _name(model, folder))


def checkpoint_folder(model: str, *, allow_download: bool, setting: str) -> Path:
    """As find_checkpoint, but the folder alone: no weights are read."""
    folder = Path(model)
    if not folder.is_dir():
        return _snapshot(model, allow_download, setting)
    if not any(folder.rglob(WEIGHTS)):
        raise ModelError(
            f"{setting}: {folder} holds no {WEIGHTS}, so it is no checkpoint. "
            "Give a hub id or a folder that save_pretrained wrote"
        )
    return folder


def fingerprint(model: str) -> str:
    """What weights the name of a model stands for just now, for the keys of stages.

    The name that find_checkpoint would give it, or `model` itself where this machine has neither
    such a folder nor such a hub id in its cache. A process reads a file again where it changed.
    """
    try:
        folder = checkpoint_folder(model, allow_download=False, setting="model")
    except ModelError:
        return model
    return _name(model, folder)


def device() -> str:
    """cuda where there is one that this process may use, else cpu."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _name(model: str, folder: Path) -> str:
    if not Path(model).is_dir():
        return f"{model}@{folder.name[:16]}"
    files = sorted(path for kind in ("*.json", WEIGHTS) for path in folder.rglob(kind))
    found = {path.relative_to(folder).as_posix(): content_hash(path) for path in files}
    return f"{folder.resolve().name}@{digest(found)}"


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
