"""Transformer blocks as a spec gives them."""

import json
from types import SimpleNamespace

from astrac.resources import text

KEYS = json.loads(text("schemas", "transformer.schema.json"))["properties"]


def block(keys, given):
    """What is written, and the schema's defaults."""
    return SimpleNamespace(**{key: schema.get("default") for key, schema in keys.items()} | given)


def shaped(**given):
    experts = given.pop("experts", None)
    return block(KEYS, given | {"experts": experts and block(KEYS["experts"]["properties"], experts)})
