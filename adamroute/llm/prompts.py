"""Prompt templates as files of their own, each known by the hash of its bytes.

The first line of a file is a comment with the template's version, which no prompt shows. A
template prints numbers and fenced texts; any other string is refused, so that a text of an item
or a user can't reach a prompt unfenced by mistake.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adamroute.llm.fence import Fenced, fenced

if TYPE_CHECKING:
    from jinja2 import Template

FOLDER = Path(__file__).parent.parent / "teacher" / "prompts"


@dataclass(frozen=True)
class Prompt:
    """One template."""

    name: str
    stamp: str  # "theta_update@3f2a9c1b"
    template: Template

    def part(self, block: str, **values: object) -> str:
        """One block ("system" or "user") as text; every name that it uses must be given."""
        context = self.template.new_context(values)
        return "".join(self.template.blocks[block](context)).strip()


@cache
def prompts(folder: Path = FOLDER) -> Mapping[str, Prompt]:
    """All templates of a folder by name."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # not HTML: the fence escapes what a prompt must not hold
    )
    environment.filters["fenced"] = fenced
    found = {}
    for path in sorted(folder.glob("*.j2")):
        data = path.read_bytes()
        stamp = f"{path.stem}@{hashlib.sha256(data).hexdigest()[:8]}"
        found[path.stem] = Prompt(path.stem, stamp, environment.from_string(data.decode()))
    return found


def _printable(value: Any) -> Any:
    from jinja2 import Undefined

    if isinstance(value, (Fenced, int, float, Undefined)):  # undefined complains by itself
        return value
    raise TypeError(f"a prompt printed {type(value).__name__} without a fence")
