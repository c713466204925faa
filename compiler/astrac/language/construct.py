"""`Document` -> `Spec`: plain values become the frozen dataclasses of `spec`, by their type hints alone."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from astrac.spec import Spec

if TYPE_CHECKING:
    from astrac.language.document import Document


def construct(document: Document) -> Spec:
    """The typed spec of a valid document that is one; without dimensions of one NPU, unless there is no other."""
    tree = document.tree
    blocks = tree["topology"]["dimensions"]
    wide = [block for block in blocks if block["size"] > 1] or blocks[:1]
    if len(wide) < len(blocks):
        gone = {block["name"] for block in blocks} - {block["name"] for block in wide}
        tree = tree | {"topology": tree["topology"] | {"dimensions": wide}}
        if "parallelism" in tree:
            axes = [_without(axis, gone) for axis in tree["parallelism"]["axes"]]
            tree["parallelism"] = tree["parallelism"] | {"axes": axes}
    spec: Spec = _build(Spec, tree)
    return spec


def _without(axis: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    """An axis that names none of some dimensions."""
    lists = {key: [name for name in axis[key] if name not in gone] for key in ("on", "shard_on") if key in axis}
    return axis | lists


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _build(hint: Any, value: Any) -> Any:
    """The value as its hint wants it; a union of dataclasses is told apart by the word in `kind`."""
    if is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        given = [(field.name, field.name.rstrip("_")) for field in fields(hint)]  # `pass_` is the key `pass`
        return hint(**{name: _build(hints[name], value[key]) for name, key in given if key in value})
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in arguments if option is not NoneType]
        return _build(options[0] if len(options) == 1 else _chosen(options, value), value)
    if get_origin(hint) is tuple:
        return tuple(_build(arguments[0], item) for item in value)
    if get_origin(hint) is dict:
        return {key: _build(arguments[1], item) for key, item in value.items()}
    return Fraction(value) if hint is Fraction else value


def _chosen(options: list[Any], value: Any) -> Any:
    """Chooses of several dataclasses the one whose `kind` admits the value's, of plain types the value's own."""
    if isinstance(value, dict):
        return next(option for option in options if value["kind"] in get_args(_hints(option)["kind"]))
    return type(value)
