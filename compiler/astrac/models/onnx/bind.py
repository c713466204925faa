"""Extents of the graph's inputs: symbols, overrides and the batch, then inference."""

from __future__ import annotations

import ast
import operator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.models.onnx.facts import Facts, Site, Value
from astrac.models.onnx.infer import BadNode, infer
from astrac.models.onnx.names import shown
from astrac.models.onnx.weights import weight_inputs
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from astrac.models.graph import Dim, Node
    from astrac.models.onnx.flatten import Flat
    from astrac.source import Span

BATCH_WORDS = frozenset({"batch", "batch_size", "batchsize", "n", "b", "bs", "batch_dim"})
"""Symbols that everybody uses for the batch."""

_INTEGERS = frozenset({"int64", "int32"})
_ARITHMETIC: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.floordiv,
}


class Open(NamedTuple):
    """An extent that nobody gave: of which input, at which axis (None: not even the rank is known), with which name."""

    input: str
    axis: int | None
    symbol: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The graph with its inputs bound.

    Attributes:
        facts: shapes of all values.
        batch: samples that the counts are for.
        weights: graph inputs that are weights.
        open: extents that stayed unknown.
    """

    facts: Facts
    batch: int
    weights: set[str]
    open: tuple[Open, ...]


def bind_inputs(
    name: str,
    flat: Flat,
    bind: Mapping[str, int],
    inputs: Mapping[str, tuple[int | str, ...]],
    batch: int | None,
    span: Span | None,
) -> Bound:
    """Bind and infer. Raises `Diagnosed` for names that the model has not, and for shapes that do not fit."""
    return _Binder(name, flat, dict(bind), span).run(inputs, batch)


class _Binder:
    """What the user said about one model, and where to complain."""

    def __init__(self, name: str, flat: Flat, symbols: dict[str, int], span: Span | None) -> None:
        self.name, self.flat, self.symbols, self.span = name, flat, symbols, span
        self.weights = weight_inputs(flat)
        self.data = {item.name: item for item in flat.inputs if item.name not in self.weights}
        self.numbers: dict[str, int] = {}
        self.axes = batch_axes(flat)
        """Inputs whose samples lie along another axis than the first."""

    def axis(self, name: str, shape: tuple[object, ...]) -> int:
        """The axis of an input's samples."""
        found = self.axes.get(name, 0)
        return found if found < len(shape) else 0

    def run(self, inputs: Mapping[str, tuple[int | str, ...]], batch: int | None) -> Bound:
        shapes = {name: item.shape for name, item in self.data.items()}
        self.override(shapes, inputs)
        self.check_symbols(shapes)
        if batch is not None:
            self.bind_batch(shapes, batch, set(inputs))
        bound = self.resolved(shapes)
        facts = self.inferred(bound, self.with_old_batch(bound))
        openings = tuple(self.openings(shapes, bound))
        return Bound(facts, batch or self.leading(bound), self.weights, openings)

    def with_old_batch(self, bound: Mapping[str, Value]) -> dict[str, Value] | None:
        """The inputs with the extents that the file fixes; None where they are as they were."""
        found = dict(bound)
        for name, item in self.data.items():
            shape, (extents, dtype, _) = item.shape, bound[name]
            if shape and extents:
                old = (dim if isinstance(dim, int) else new for dim, new in zip(shape, extents, strict=True))
                found[name] = Value(tuple(old), dtype)
        return None if found == dict(bound) else found

    def error(self, code: str, message: str, *hints: str) -> Diagnosed:
        return Diagnosed(diagnostic(code, message, self.span, hints=hints))

    def override(self, shapes: dict[str, tuple[Dim, ...] | None], inputs: Mapping[str, tuple[int | str, ...]]) -> None:
        """Shapes that the user gives to inputs by name."""
        for name, shape in inputs.items():
            if name not in self.data:
                known = ", ".join(f"`{other}`" for other in self.data) or "none"
                raise self.error(
                    "AS609",
                    f"`{self.name}` has no input `{name}`",
                    *did_you_mean(name, self.data),
                    f"its inputs: {known}",
                )
            rank = shapes[name]
            if rank is not None and len(rank) != len(shape):
                message = f"input `{name}` of `{self.name}` has {len(rank)} axes ({_dims(rank)}), not {len(shape)}"
                raise self.error("AS609", message)
            for axis, (fixed, given) in enumerate(zip(rank or (), shape, strict=False)):
                samples = given == "batch" or axis == self.axes.get(name, 0)
                if not samples and isinstance(fixed, int) and fixed != self.extent(given):
                    message = (
                        f"input `{name}` of `{self.name}` is fixed at {_dims(rank)}: "
                        f"axis {axis} is {fixed} in the model, {self.extent(given)} here"
                    )
                    hint = f"write {fixed}, or export the model with a symbolic extent there"
                    raise self.error("AS670", message, hint)
            shapes[name] = shape

    def extent(self, dim: int | str) -> int | str:
        """What a given extent stands for: a symbol that is bound is its value."""
        value = evaluate(dim, self.symbols) if isinstance(dim, str) else dim
        return dim if value is None else value

    def check_symbols(self, shapes: Mapping[str, tuple[Dim, ...] | None]) -> None:
        """Every bound name is a symbol of some input, a scalar integer input, or a loop."""
        symbols = {dim for shape in (*shapes.values(), *self.claimed()) for dim in shape or () if isinstance(dim, str)}
        scalars = {
            name
            for name, item in self.data.items()
            if item.shape is not None and len(item.shape) <= 1 and item.dtype in _INTEGERS
        }
        inner = {word for symbol in symbols for word in _words(symbol)}
        loops = {region.node for region in self.flat.regions if region.kind == "loop"}
        for name in [name for name in self.symbols if name not in symbols | inner]:
            if name not in scalars | loops:
                known = sorted(symbols | scalars | loops)
                hint = f"it has {', '.join(f'`{word}`' for word in known)}" if known else "all of its extents are fixed"
                raise self.error(
                    "AS608", f"`{self.name}` has no symbolic extent `{name}`", *did_you_mean(name, known), hint
                )
            self.numbers[name] = self.symbols.pop(name)
        for name, value in self.symbols.items():
            if value < 0:
                raise self.error("AS608", f"extent `{name}` is bound to {value}, which is no extent")

    def claimed(self) -> Iterable[tuple[Dim, ...]]:
        return (hint.shape for hint in self.flat.hints.values() if hint.shape is not None)

    def bind_batch(self, shapes: dict[str, tuple[Dim, ...] | None], batch: int, given: set[str]) -> None:
        """Put the batch where it belongs: into its symbol, an unnamed leading axis, or a fixed one that all share."""
        if batch < 1:
            raise self.error("AS608", f"the batch is {batch}; it must be at least 1")
        leading = {name: shape[self.axis(name, shape)] for name, shape in shapes.items() if shape}
        symbols = self.batch_symbols(shapes)
        for symbol in symbols:
            if self.symbols.setdefault(symbol, batch) != batch:
                message = f"`{symbol}` is bound to {self.symbols[symbol]} and the batch is {batch}"
                raise self.error("AS608", message, "bind one of them")
        fixed = {dim for dim in leading.values() if isinstance(dim, int)}
        if not symbols and fixed == set(leading.values()) and not fixed <= {batch}:
            self.check_fixed(shapes, batch, fixed, given)
            shapes.update((name, self.resized(name, shapes, batch)) for name in leading if name not in given)
        shapes.update((name, self.resized(name, shapes, batch)) for name, dim in leading.items() if dim is None)

    def resized(self, name: str, shapes: Mapping[str, tuple[Dim, ...] | None], batch: int) -> tuple[Dim, ...]:
        """The shape of an input with the batch where its samples lie."""
        shape = shapes[name] or ()
        axis = self.axis(name, shape)
        return (*shape[:axis], batch, *shape[axis + 1 :])

    def batch_symbols(self, shapes: Mapping[str, tuple[Dim, ...] | None]) -> set[str]:
        """Symbols that mean the batch: by their name, or because all that is symbolic begins with it."""
        symbols = {dim for shape in shapes.values() for dim in shape or () if isinstance(dim, str)}
        words = {symbol for symbol in symbols if symbol.casefold() in BATCH_WORDS}
        leading = {shape[self.axis(name, shape)] for name, shape in shapes.items() if shape}
        first = {dim for dim in leading if isinstance(dim, str)} - self.symbols.keys()
        return words or (first if len(first) == 1 else set())

    def check_fixed(
        self, shapes: Mapping[str, tuple[Dim, ...] | None], batch: int, fixed: set[int], given: set[str]
    ) -> None:
        """Another batch than that of the inputs needs inputs that agree, and that the user has not given himself."""
        described = ", ".join(f"`{name}` {_dims(shape)}" for name, shape in shapes.items() if shape)
        if len(fixed) > 1 and not given:
            message = f"which axis of `{self.name}` is the batch of {batch}? its inputs begin differently: {described}"
            raise self.error("AS610", message, 'give the shapes with `input "NAME" { shape: [batch, ...] }`')
        if len(fixed) == 1 and given:
            message = f"the inputs of `{self.name}` are given for a batch of {min(fixed)}, and the batch is {batch}"
            raise self.error("AS608", f"{message}: {described}", "write `batch` as the extent of that axis")

    def resolved(self, shapes: Mapping[str, tuple[Dim, ...] | None]) -> dict[str, Value]:
        """Shapes with symbols put in; what is not bound stays unknown."""
        found = {}
        for item in self.flat.inputs:
            shape: tuple[Dim, ...] | None = shapes.get(item.name, item.shape)
            extents = (
                None
                if shape is None
                else tuple(evaluate(dim, self.symbols) if isinstance(dim, str) else dim for dim in shape)
            )
            found[item.name] = Value(extents, item.dtype)
        return found

    def inferred(self, bound: dict[str, Value], before: dict[str, Value] | None) -> Facts:
        """Shapes of everything; with another batch than the file's, no node may hold on to the old one."""
        try:
            facts = infer(self.flat, bound, self.numbers, self.symbols)
        except BadNode as bad:
            if before is None:
                raise
            raise self.pinned(self.pins(bad.facts, before) or bad.node, before, bound, str(bad)) from None
        if before is not None and (pin := self.pins(facts, before)) is not None:
            raise self.pinned(pin, before, bound, "its target is fixed")
        return facts

    def pinned(self, node: Node, before: Mapping[str, Value], bound: Mapping[str, Value], why: str) -> Diagnosed:
        changed = [
            was
            for name in self.data
            for was, now in zip(before[name].shape or (), bound[name].shape or (), strict=True)
            if was != now
        ]
        old = changed[0] if changed else self.leading(before)
        message = f"`{self.name}` has a fixed batch of {old}: {_label(node)} holds on to it ({why})"
        return self.error("AS610", message, f"use a micro-batch of {old}, or export the model with a symbolic batch")

    def pins(self, facts: Facts, before: Mapping[str, Value]) -> Node | None:
        """The first Reshape that moves the batch into another axis."""
        old = infer(self.flat, before, self.numbers, self.symbols)
        return next(
            (node for node in self.flat.nodes if node.op == "Reshape" and _moves(Site(node, old), Site(node, facts))),
            None,
        )

    def openings(self, shapes: Mapping[str, tuple[Dim, ...] | None], bound: Mapping[str, Value]) -> Iterable[Open]:
        """Extents of data inputs that stayed unknown."""
        for name, item in self.data.items():
            shape, value = shapes[name], bound[name]
            if shape is None or value.shape is None:
                yield Open(name, None, "")
                continue
            for axis, (dim, extent) in enumerate(zip(shape, value.shape, strict=True)):
                if extent is None:
                    yield Open(item.name, axis, dim if isinstance(dim, str) else "")

    def leading(self, bound: Mapping[str, Value]) -> int:
        """The extent that all data inputs begin with, else 1."""
        shapes = {name: value.shape for name, value in bound.items() if name in self.data and value.shape}
        found = {shape[self.axis(name, shape)] for name, shape in shapes.items() if shape}
        only = found.pop() if len(found) == 1 else None
        return only or 1


_SAME_AXES = frozenset(
    {"Identity", "Cast", "Relu", "Dropout", "Add", "Sub", "Mul", "Div", "MatMul", "LayerNormalization"}
)


def batch_axes(flat: Flat) -> dict[str, int]:
    """Inputs that reach a recurrent operator with their steps first, so that their samples lie along axis 1."""
    recurrent = [node for node in flat.nodes if node.op in ("LSTM", "GRU", "RNN") and not node.attributes.get("layout")]
    if not recurrent:
        return {}
    makers = {name: node for node in flat.nodes for name in node.outputs}
    inputs, found = {item.name for item in flat.inputs}, {}
    for node in recurrent:
        for name in node.inputs[:1] + node.inputs[5:7]:
            source, axis = name, 1
            while (maker := makers.get(source)) is not None and maker.inputs:
                if maker.op == "Transpose" and isinstance(perm := maker.attributes.get("perm"), tuple):
                    if not axis < len(perm) or not isinstance(perm[axis], int):
                        break
                    axis = perm[axis]  # type: ignore[assignment]
                elif maker.op == "Gather" and len(maker.inputs) > 1 and not maker.attributes.get("axis"):
                    source = maker.inputs[1]
                    continue
                elif maker.op not in _SAME_AXES:
                    break
                source = next((item for item in maker.inputs if item not in flat.constants), "")
            if source in inputs and axis:
                found[source] = axis
    return found


def _moves(old: Site, new: Site) -> bool:
    """Whether a Reshape with a fixed target sees another batch than the file's and puts it elsewhere."""
    first, second, target = old.shape(), new.shape(), new.either("shape", 1)
    if first is None or second is None or len(first) != len(second):
        return False
    if target is None or target != old.either("shape", 1):
        return False
    axis = next((index for index, (one, other) in enumerate(zip(first, second, strict=True)) if one != other), None)
    if axis is None or None in first:
        return False
    if axis < len(target) and target[axis] == 0 and not new.number("allowzero"):
        return False
    if -1 not in target:
        return True
    place = target.index(-1)
    return place > 0 if axis == 0 else prod(first[:axis]) != prod(old.output()[:place] if old.output() else ())  # type: ignore[index, arg-type]


def evaluate(symbol: str, symbols: Mapping[str, int]) -> int | None:
    """A symbol's value: bound itself, or an expression of bound ones (`past + 1`, `2*seq`)."""
    if symbol in symbols:
        return symbols[symbol]
    try:
        return _evaluate(ast.parse(symbol, mode="eval").body, symbols) if len(symbol) < 200 else None
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _evaluate(tree: ast.expr, symbols: Mapping[str, int]) -> int:
    if isinstance(tree, ast.Name):
        return symbols[tree.id]
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return tree.value
    if isinstance(tree, ast.BinOp) and type(tree.op) in _ARITHMETIC:
        return _ARITHMETIC[type(tree.op)](_evaluate(tree.left, symbols), _evaluate(tree.right, symbols))
    raise ValueError(ast.dump(tree))


def _words(symbol: str) -> Iterable[str]:
    try:
        tree = ast.parse(symbol, mode="eval") if len(symbol) < 200 else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)] if tree is not None else ()


def _dims(shape: tuple[Dim, ...] | None) -> str:
    return "?" if shape is None else "[" + ", ".join("?" if dim is None else str(dim) for dim in shape) + "]"


def _label(node: Node) -> str:
    """A node as people find it in their viewer."""
    return f"`{shown(node)}` ({node.op})"
