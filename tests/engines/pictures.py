"""One-coloured pictures, as PIL holds them and as a chat message carries them."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

from PIL import Image

SIZE = (96, 64)  # 6 x 4 patches, merged two by two: 6 tokens


def plain_picture(colour: str) -> Image.Image:
    """96 x 64 pixels of one colour."""
    return Image.new("RGB", SIZE, colour)


def with_picture(text: str, colour: str) -> list[dict[str, Any]]:
    """One user message: the picture as a data URL, then the text."""
    file = BytesIO()
    plain_picture(colour).save(file, "PNG")
    url = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    picture = {"type": "image_url", "image_url": {"url": url}}
    return [{"role": "user", "content": [picture, {"type": "text", "text": text}]}]
