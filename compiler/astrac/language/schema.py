"""The block schemas, read exactly: the one place where keys, types, units, defaults and meanings stand.

`x-` annotations are explained at the head of schemas/README.md.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING, Any, TypeAlias

from astrac import resources

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Schema: TypeAlias = dict[str, Any]


@cache
def spec() -> Schema:
    """The schema of a whole spec: every `$ref` replaced by what it refers to, numbers as exact fractions."""
    return load("spec.schema.json")


def load(name: str) -> Schema:
    """A schema under schemas/ by file name, closed."""
    schema: Schema = _closed(_read(name), name)
    return schema


@cache
def _read(name: str) -> Schema:
    text = resources.text("schemas", *name.split("/"))
    schema: Schema = json.loads(text, parse_float=Fraction)
    return schema


def _closed(node: Any, name: str) -> Any:
    """The schemas are no deeper than their files nest, so the references are followed without end."""
    if isinstance(node, list):
        return [_closed(item, name) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        path, _, pointer = node["$ref"].partition("#")
        target = normpath(join(dirname(name), path)) if path else name
        found = _read(target)
        for step in pointer.split("/")[1:]:
            found = found[step]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _closed(found, target) | _closed(beside, name)
    return {key: _closed(value, name) for key, value in node.items() if key not in ("$defs", "$id", "$schema")}


def branches(block: Schema) -> dict[str, tuple[str, Schema]]:
    """The blocks that a block may hold: kind -> (property, schema of that block)."""
    found: dict[str, tuple[str, Schema]] = {}
    for name, entry in block.get("properties", {}).items():
        if entry.get("type") == "object":
            found[name] = (name, entry)
        for kind, branch in entry.get("x-blocks", {}).items():
            found[kind] = (name, branch)
    return found


def keys(block: Schema) -> dict[str, Schema]:
    """The attributes that a block may hold; blocks that a plain word can stand for are among them."""
    reserved = (
        {"kind"} if "kind" in block.get("properties", {}) and _is_constant(block["properties"]["kind"]) else set()
    )
    if block.get("x-named", "none") != "none":
        reserved.add("name")
    return {
        name: entry
        for name, entry in block.get("properties", {}).items()
        if name not in reserved and "x-blocks" not in entry and (entry.get("type") != "object" or "x-word" in entry)
    }


def value(block: Schema, key: str, *, quoted: bool = False) -> Schema | None:
    """The schema of an attribute; in an open map (`bind { "2*seq": 256 }`) any key has one, in quotes or not."""
    found = None if quoted else keys(block).get(key)
    rest = block.get("additionalProperties")
    return found or (rest if isinstance(rest, dict) else None)


def _is_constant(entry: Schema) -> bool:
    """Whether `kind` is the block's own kind rather than a key that the user writes."""
    return entry.get("type") == "string" and "enum" not in entry


def walk(block: Schema, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """The block and all blocks in it, each with its path of kinds."""
    yield path, block
    for kind, (_, branch) in branches(block).items():
        yield from walk(branch, (*path, kind))


def required(block: Mapping[str, Any]) -> tuple[str, ...]:
    """The properties that a block cannot do without."""
    return tuple(block.get("required", ()))
