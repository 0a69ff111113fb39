"""Lets a CUDA build of torchvision be imported beside a CPU build of torch. Cost: none until then.

transformers reads images with torchvision, and the package index has only the CUDA build. Its C++
part doesn't load without CUDA, and the import then fails because two operators that we never call
are not declared. `make test-engines` installs this module, and a .pth file that imports it.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

OPERATORS = ("nms", "qnms")
KEPT: list[object] = []  # a library's declarations go when it does


class DeclareFirst:
    """Declares the operators just before torchvision is imported; finds no module itself."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torchvision" and self in sys.meta_path:
            sys.meta_path.remove(self)
            declare()


def declare() -> None:
    """Declare what torchvision registers fakes for, where its own library can't."""
    import torch

    if torch.version.cuda is not None or version("torchvision").endswith("+cpu"):
        return
    fragment: Any = torch.library.Library  # typed Any: it has no annotations
    library = fragment("torchvision", "DEF")
    for name in OPERATORS:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    KEPT.append(library)


sys.meta_path.insert(0, DeclareFirst())
