"""JSON schemas of the replies. Every list and text is bounded, so that a reply can end.

All fields are required and no other is allowed: the strict mode of OpenAI's API wants both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from adamroute.catalogue.item_words import INTENTS
from adamroute.catalogue.preferences import PHRASES

Schema = Mapping[str, JsonValue]

MAX_PHRASE = 40  # characters
MAX_QUERY = 200
MAX_REASON = 200


def preferences_schema() -> Schema:
    """Three lists of at most four short phrases."""
    phrase: JsonValue = {"type": "string", "minLength": 1, "maxLength": MAX_PHRASE}
    phrases: JsonValue = {"type": "array", "items": phrase, "maxItems": PHRASES}
    return _object(strong_pref=phrases, nice_to_have=phrases, dislike=phrases)


def theta_schema(budgets: Sequence[int]) -> Schema:
    """Why, alpha, and a budget of the bins: in this order, so that the reason can still decide."""
    return _object(
        reason={"type": "string", "maxLength": MAX_REASON},
        alpha={"type": "number", "minimum": 0, "maximum": 1},
        budget={"type": "integer", "enum": list(budgets)},
    )


def pseudo_query_schema(items: int) -> Schema:
    """The kind of the real query, then one verdict an item."""
    verdict = _object(
        relevant={"type": "boolean"}, query={"type": "string", "maxLength": MAX_QUERY}
    )
    return _object(
        kind={"type": "string", "enum": list(INTENTS)},
        items={"type": "array", "items": dict(verdict), "minItems": items, "maxItems": items},
    )


def _object(**properties: JsonValue) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
