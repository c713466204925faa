"""Shapes of sequences, lists of tensors: how many elements of one shape follow each other, run by run."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from astrac.models.onnx.facts import Inconsistent, Site, Value, common, elements
from astrac.models.onnx.layout import Values, agreed, axis_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.models.onnx.facts import Runs, Shape

_MOST = 256
"""Runs that are told apart; of more, what all elements have in common is known."""


def sequence(runs: Sequence[tuple[int | None, Shape]], dtype: str | None) -> Value:
    """The value of a sequence: neighbours of one shape become one run."""
    joined: list[tuple[int | None, Shape]] = []
    for count, shape in runs:
        last = joined[-1] if joined else (None, None)
        if last[0] is not None and count is not None and last[1] == shape:
            joined[-1] = (last[0] + count, shape)
        elif count != 0:
            joined.append((count, shape))
    if len(joined) > _MOST:
        return _levelled(joined, 0, dtype)
    return Value(_shared(joined), dtype, tuple(joined))


def _shared(runs: Sequence[tuple[int | None, Shape]]) -> Shape:
    return reduce(common, (shape for _, shape in runs)) if runs else None


def _levelled(runs: Sequence[tuple[int | None, Shape]], more: int, dtype: str | None) -> Value:
    """A sequence of which only the length is known, with what is common to its elements."""
    shape = _shared(runs)
    known = sum(count for count, _ in runs if count is not None) + more
    unknown = sum(count is None for count, _ in runs)
    if known < 0:
        known, unknown = 0, unknown + 2  # one that came in is gone: nobody knows how many are left
    return Value(shape, dtype, ((None, shape),) * unknown + (((known, shape),) if known else ()))


def runs_of(value: Value) -> Runs:
    """The runs of a sequence; of one that nobody has described, any number of elements."""
    return ((None, value.shape),) if value.runs is None else value.runs


def length(value: Value) -> int | None:
    """How many elements a sequence has."""
    counts = [count for count, _ in runs_of(value)]
    return None if None in counts else sum(counts)  # type: ignore[arg-type]


def merged(first: Value, second: Value) -> Value:
    """What is common to two values that may stand in one place."""
    if first.runs is None and second.runs is None:
        return Value(common(first.shape, second.shape), first.dtype)
    if first.runs == second.runs:
        return first
    return sequence(((None, _shared([*runs_of(first), *runs_of(second)])),), first.dtype)


def _cut(runs: Runs, position: int) -> tuple[Runs, Runs] | None:
    """The runs before and behind a position, which counts from the back when it is negative; None where it is lost."""
    if position < 0:
        turned = _cut(runs[::-1], -position)
        return None if turned is None else (turned[1][::-1], turned[0][::-1])
    for index, (count, shape) in enumerate(runs):
        if position == 0:
            return runs[:index], runs[index:]
        if count is None:
            return None
        if position < count:
            return (*runs[:index], (position, shape)), ((count - position, shape), *runs[index + 1 :])
        position -= count
    if position:
        raise Inconsistent("the sequence has no element at that position")
    return runs, ()


def _parts(site: Site, index: int, without: int) -> tuple[Runs, Runs] | None:
    """The runs before and behind the position that an input gives, or the one that its absence means."""
    if not site.has(index):
        return _cut(runs_of(site.value()), -without) if without else (runs_of(site.value()), ())
    position = site.data(index)
    return _cut(runs_of(site.value()), position[0]) if position else None


def _rest(runs: Runs) -> Runs:
    """The runs without their first element."""
    if not runs:
        raise Inconsistent("the sequence has no element at that position")
    (count, shape), *others = runs
    return (*(((count - 1, shape),) if count is not None and count > 1 else ()), *others)


def empty(site: Site) -> Values:
    """No element yet."""
    return (Value(None, site.text("dtype") or "float32", ()),)


def construct(site: Site) -> Values:
    """The operands one after the other."""
    return (sequence([(1, site.shape(index)) for index in range(len(site.node.inputs))], site.dtype()),)


def insert(site: Site) -> Values:
    """One element more at a position, behind all others without one."""
    runs, new, parts = runs_of(site.value()), (1, site.shape(1)), _parts(site, 2, 0)
    dtype = site.dtype(1) or site.dtype()
    if parts is None:
        return (_levelled([*runs, new], 0, dtype),)
    return (sequence([*parts[0], new, *parts[1]], dtype),)


def erase(site: Site) -> Values:
    """One element less, the last without a position."""
    parts = _parts(site, 1, 1)
    if parts is None or (parts[1] and parts[1][0][0] is None):
        return (_levelled(runs_of(site.value()), -1, site.dtype()),)
    return (sequence([*parts[0], *_rest(parts[1])], site.dtype()),)


def at(site: Site) -> Values:
    """The element at a position; where nobody knows which, what is common to all."""
    parts = _parts(site, 1, 1)
    if parts is None or (parts[1] and parts[1][0][0] is None):
        return (Value(site.shape(), site.dtype()),)
    _rest(parts[1])
    return (Value(parts[1][0][1], site.dtype()),)


def split(site: Site) -> Values:
    """Parts of given sizes, equal ones with a smaller last one, or single slices."""
    shape, dtype, sizes = site.shape(), site.dtype(), site.data(1)
    if shape is None:
        return (sequence(((None, None),), dtype),)
    axis = axis_of(site.number("axis"), len(shape))
    extent, before, behind = shape[axis], shape[:axis], shape[axis + 1 :]
    if not site.has(1):
        part = (1,) if site.number("keepdims", 1) else ()
        return (sequence(((extent, (*before, *part, *behind)),), dtype),)
    if sizes is None or (site.shape(1) == () and extent is None):
        count = site.shape(1)
        return (sequence(((count[0] if count else None, (*before, None, *behind)),), dtype),)
    if site.shape(1) == ():
        if sizes[0] < 1:
            raise Inconsistent(f"parts of {sizes[0]}")
        whole, rest = divmod(extent or 0, sizes[0])
        return (sequence(((whole, (*before, sizes[0], *behind)), (int(rest > 0), (*before, rest, *behind))), dtype),)
    if extent is not None and sum(sizes) != extent:
        raise Inconsistent(f"parts {list(sizes)} of an axis of {extent}")
    return (sequence([(1, (*before, size, *behind)) for size in sizes], dtype),)


def concat(site: Site) -> Values:
    """All elements along an axis, which `new_axis` makes first."""
    runs, new = runs_of(site.value()), site.number("new_axis")
    shapes = [shape for _, shape in runs if shape is not None]
    if not shapes:
        return (Value(None, site.dtype()),)
    axis = axis_of(site.number("axis"), len(shapes[0]) + new)
    if any(len(shape) != len(shapes[0]) for shape in shapes):
        raise Inconsistent("the elements of the sequence differ in rank")
    columns = enumerate(zip(*shapes, strict=True))
    result = [None if index == axis and not new else agreed(extents) for index, extents in columns]
    along = [elements((count, 1 if new else None if shape is None else shape[axis])) for count, shape in runs]
    result[axis : axis + 1 - new] = [None if None in along else sum(along)]  # type: ignore[arg-type]
    return (Value(tuple(result), site.dtype()),)


def inside(value: Value) -> Value:
    """A carried value as a loop's body sees it: a sequence has any number of elements before what the body adds."""
    return value if value.runs is None else sequence(((None, value.shape),), value.dtype)


def _added(handed: Value) -> tuple[Runs, Runs] | None:
    """What one iteration puts before and behind the elements that came in; None where those cannot be told apart."""
    runs = runs_of(handed)
    places = [index for index, (count, _) in enumerate(runs) if count is None]
    return (runs[: places[0]], runs[places[0] + 1 :]) if len(places) == 1 else None


def carried(initial: Value, handed: Value) -> Value:
    """What is common to all iterations of a carried value."""
    if initial.runs is None:
        return merged(initial, handed)
    added = _added(handed)
    runs = [*runs_of(handed)] if added is None else [*added[0], *added[1]]
    return sequence(((None, _shared([*initial.runs, *runs])),), handed.dtype)


def after(initial: Value, handed: Value, trips: int | None) -> Value:
    """A carried value behind its loop."""
    if trips == 0:
        return initial
    if handed.runs is None or None not in [count for count, _ in handed.runs]:
        return handed
    added = _added(handed)
    if added is None or trips is None:
        return sequence(((None, handed.shape),), handed.dtype)
    before, behind = (_repeated(part, trips) for part in added)
    return sequence((*before, *runs_of(initial), *behind), handed.dtype)


def _repeated(runs: Runs, times: int) -> Runs:
    if len(runs) * times <= _MOST:
        return runs * times
    return ((times * sum(count or 0 for count, _ in runs), _shared(runs)),)
