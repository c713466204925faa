"""Shapes of all values: one pass over the straight list, each node by its operator's row.

What the file itself claims about shapes is not trusted (it may be stale), except for the results of operators that no
row and no schema knows. Integer shape arithmetic is folded on the way, so nothing needs a second pass but the rare loop
whose carried values change their shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.models.graph import LIMIT
from astrac.models.onnx import sequences
from astrac.models.onnx.facts import UNKNOWN, Facts, Inconsistent, Shape, Site, Value
from astrac.models.onnx.operators import operator
from astrac.models.onnx.schema import infer as infer_by_schema
from astrac.models.onnx.sequences import merged
from astrac.models.onnx.splice import ENDIF, ENDLOOP, ENDSCAN, LOOP, SCAN
from astrac.models.onnx.trips import trips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from astrac.models.graph import Node, Signature
    from astrac.models.onnx.flatten import Flat

TRIPPED = (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError, AttributeError)
"""What a row raises on a node with the wrong number or kind of operands: the file is wrong, not the row."""

MISFIT = "its operands or attributes are not those of the operator"

_ROUNDS = 4
_LARGEST = 2**63 - 1


class BadNode(Exception):  # noqa: N818 - what a graph is, not an error of ours
    """A node whose operands do not fit, and what was known when it was met."""

    def __init__(self, site: Site, why: str) -> None:
        super().__init__(why)
        self.node, self.facts = site.node, site.facts


def infer(flat: Flat, inputs: Mapping[str, Value], numbers: Mapping[str, int], symbols: Mapping[str, int]) -> Facts:
    """All that follows from the inputs' shapes.

    Args:
        flat: the straight list.
        inputs: shape and type of each graph input.
        numbers: values that the user has bound to scalar integer inputs (a loop's trip count), and to loops by name.
        symbols: bound symbolic extents, for the file's claims about unknown operators.

    Returns:
        Shapes, types and small numbers. Raises `BadNode` for a node that contradicts itself.
    """
    carried: dict[str, Value] = {}
    for attempt in range(_ROUNDS):
        facts = Facts(flat.constants)
        for name, item in flat.constants.items():
            facts.note(name, Value(item.shape, item.dtype))
        for name, value in inputs.items():
            facts.note(name, value)
        changed = _round(flat, facts, numbers, symbols, carried)
        if not changed:
            break
        carried.update(changed)
        if attempt == _ROUNDS - 2:  # loops within loops that go on changing: nothing is known of what they carry
            carried = {name: UNKNOWN for node in flat.nodes if node.op in (LOOP, SCAN) for name in node.outputs}
    return facts


def _round(
    flat: Flat, facts: Facts, numbers: Mapping[str, int], symbols: Mapping[str, int], carried: Mapping[str, Value]
) -> dict[str, Value]:
    """One pass; carried values that a loop's body changes, with what is common to all iterations."""
    fold = _folder(flat, facts, numbers)
    bodies: dict[int, list[Node]] = {}
    changed: dict[str, Value] = {}
    for node in flat.nodes:
        site = Site(node, facts)
        if node.op == ENDLOOP:
            number = site.number("body")
            facts.trips[number] = trips(site, bodies.get(number, ()), numbers.get(flat.regions[number].node))
        found = () if node.region and _is_dead(flat, facts, node.region) else _values(site, flat.hints, symbols)
        for name, value in zip(node.outputs, found, strict=False):
            if not name:
                continue
            facts.note(name, carried.get(name, value) if carried else value)
            if (facts.sizes[name] or 0) > _LARGEST:
                raise BadNode(site, "its result has more elements than any machine can count")
        for name in filter(None, node.outputs[len(found) :]):
            facts.note(name, UNKNOWN)
        if node.region and node.op not in (LOOP, SCAN):
            bodies.setdefault(node.region, []).append(node)
        if node.op in (ENDLOOP, ENDSCAN):
            changed.update(_unstable(site))
        elif fold is not None:
            fold(site)
    return changed


def _is_dead(flat: Flat, facts: Facts, number: int) -> bool:
    """Whether a region lies in a branch whose condition is known and not met."""
    region = flat.regions[number]
    if number == 0 or number in facts.dead:
        return number != 0
    condition = facts.array(region.count) if region.kind == "branch" else None
    excluded = condition is not None and condition.size == 1 and bool(condition.ravel()[0]) != bool(region.axis)
    if excluded or _is_dead(flat, facts, region.parent):
        facts.dead.add(number)
        return True
    return False


def _values(site: Site, hints: Mapping[str, Signature], symbols: Mapping[str, int]) -> Sequence[Value]:
    """Shapes and types of the outputs of one node."""
    node = site.node
    marker = _MARKERS.get(node.op)
    row = operator(node.domain, node.op) if marker is None else None
    try:
        if marker is not None:
            return marker(site)
        if row is not None:
            return row.shape(site)
        return infer_by_schema(site) or [_hint(hints.get(name), symbols) for name in node.outputs]
    except Inconsistent as error:
        raise BadNode(site, str(error)) from None
    except TRIPPED:
        raise BadNode(site, MISFIT) from None


def _hint(signature: Signature | None, symbols: Mapping[str, int]) -> Value:
    """What the file says about a value, with symbols put in."""
    if signature is None or signature.shape is None:
        return UNKNOWN if signature is None else Value(None, signature.dtype)
    return Value(tuple(symbols.get(dim) if isinstance(dim, str) else dim for dim in signature.shape), signature.dtype)


def _folder(flat: Flat, facts: Facts, numbers: Mapping[str, int]) -> Callable[[Site], None] | None:
    """Notes the numbers of small results; None where nothing can be folded, which spares the zoo's models numpy."""
    readable = any(constant.payload is not None for constant in flat.constants.values())
    if not readable and not any(node.op in ("Shape", "Size", "ConstantOfShape") for node in flat.nodes):
        return None
    import numpy as np  # noqa: PLC0415

    from astrac.models.onnx.fold import FOLD, SPECIAL, fold  # noqa: PLC0415

    inputs = {item.name for item in flat.inputs}
    facts.data.update((name, np.asarray(number)) for name, number in numbers.items() if name in inputs)
    data, constants, values = facts.data, facts.constants, facts.values

    def note(site: Site) -> None:
        node = site.node
        if node.region and node.op in _SHIFTS:
            _note_offset(site)
        if node.op in FOLD:
            if not node.inputs or (node.inputs[0] not in constants and data.get(node.inputs[0]) is None):
                return
        elif node.op not in SPECIAL:
            return
        total = facts.sizes[node.outputs[0]]
        if node.op != ENDIF and (total is None or total > LIMIT):
            return
        try:
            found = fold(site)
        except TRIPPED:
            return
        for name, result in zip(node.outputs, found or (), strict=False):
            if result is not None and result.shape == values[name].shape:
                data[name] = result

    return note


def _carried(site: Site) -> Iterator[tuple[str, Value, Value]]:
    """The carried values of a loop: the name in its body, what comes in, what each iteration hands on."""
    formal, initial = site.names("formal"), site.names("initial")
    before, after = (2, 2) if site.node.op == ENDLOOP else (0, 1)
    for index in range(site.number("carried")):
        name = formal[before + index] if before + index < len(formal) else ""
        first = initial[before + index]
        yield "" if name == first else name, site.facts.values.get(first, UNKNOWN), site.value(after + index)


_SHIFTS = frozenset({"Add", "Sub", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Cast", "CastLike"})


def _note_offset(site: Site) -> None:
    """One number of a loop's body that is another one and so many more: an end beside its start."""
    node, facts = site.node, site.facts
    if facts.sizes[node.outputs[0]] != 1 or (facts.values[node.outputs[0]].dtype or "")[:3] != "int":
        return
    if node.op not in ("Add", "Sub"):
        base, more = node.inputs[0], 0
    else:
        numbers = [site.data(index) for index in (0, 1)]
        if numbers[1] is not None and numbers[0] is None:
            base, more = node.inputs[0], numbers[1][0] * (1 if node.op == "Add" else -1)
        elif numbers[0] is not None and numbers[1] is None and node.op == "Add":
            base, more = node.inputs[1], numbers[0][0]
        else:
            return
    first, offset = facts.offsets.get(base, (base, 0))
    facts.offsets[node.outputs[0]] = (first, offset + more)


def _unstable(site: Site) -> Iterator[tuple[str, Value]]:
    """Values that a body hands on with another shape than it got them."""
    for name, initial, handed in _carried(site):
        first = site.facts.values.get(name, UNKNOWN)
        common = sequences.carried(initial if initial.runs is not None else first, handed)
        if name and common.shape != first.shape:
            yield name, common


def _choose(site: Site) -> list[Value]:
    count, condition = len(site.node.outputs), site.array(0)
    order = site.numbers("order") or ()
    if condition is not None and condition.size == 1 and len(order) == 2:
        first = 1 + count * order.index(int(bool(condition.ravel()[0])))
        return [site.value(first + index) for index in range(count)]
    return [merged(site.value(1 + index), site.value(1 + count + index)) for index in range(count)]


def _enter_loop(site: Site) -> list[Value]:
    states = [sequences.inside(site.value(index)) for index in range(2, len(site.node.inputs))]
    return [Value((), "int64"), Value((), "bool"), *states]


def _leave_loop(site: Site) -> list[Value]:
    count = site.facts.trips[site.number("body")]
    stacked = range(2 + site.number("carried"), len(site.node.inputs))
    results = [sequences.after(initial, handed, count) for _, initial, handed in _carried(site)]
    return results + [_stack(site.value(index), count) for index in stacked]


def _enter_scan(site: Site) -> list[Value]:
    count, total = site.number("num_scan_inputs"), len(site.node.inputs)
    axes = site.numbers("scan_input_axes") or (0,) * count
    states = [site.value(index) for index in range(total - count)]
    return states + [_slice(site.value(total - count + index), axes[index]) for index in range(count)]


def _leave_scan(site: Site) -> list[Value]:
    shape, carried = site.shape(), site.number("carried")
    count = None if not shape else shape[site.number("axis")]
    results = [site.value(1 + index) for index in range(carried)]
    return results + [_stack(site.value(index), count) for index in range(1 + carried, len(site.node.inputs))]


def _stack(value: Value, count: int | None) -> Value:
    return Value(None if value.shape is None else (count, *value.shape), value.dtype)


def _slice(value: Value, axis: int) -> Value:
    shape: Shape = value.shape
    if shape is None:
        return value
    where = axis % len(shape)
    return Value((*shape[:where], *shape[where + 1 :]), value.dtype)


_MARKERS: dict[str, Callable[[Site], list[Value]]] = {
    ENDIF: _choose,
    LOOP: _enter_loop,
    ENDLOOP: _leave_loop,
    SCAN: _enter_scan,
    ENDSCAN: _leave_scan,
}
