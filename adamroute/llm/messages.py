"""An ask as the chat messages that both engines take; photos travel as data URLs."""

from __future__ import annotations

import base64
import mimetypes
from pathlib import Path
from typing import Any

from adamroute.errors import ModelError
from adamroute.llm.chat import Ask

Message = dict[str, Any]  # the OpenAI chat format, which is nested JSON


def messages_of(ask: Ask) -> list[Message]:
    """System and user message. ModelError where a photo can't be read."""
    text = {"type": "text", "text": ask.user}
    images = [{"type": "image_url", "image_url": {"url": _data_url(p)}} for p in ask.images]
    content: object = [*images, text] if images else ask.user
    return [{"role": "system", "content": ask.system}, {"role": "user", "content": content}]


def _data_url(path: Path) -> str:
    kind = mimetypes.guess_type(path.name)[0] or "image/jpeg"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: photo can't be read ({type(error).__name__})") from error
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
