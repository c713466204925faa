"""Job -> files -> Job for Jobs that nobody thought of."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import jobs
from astrac import bundle, emit
from astrac.job import (
    IMPLEMENTED,
    Axis,
    AxisGroup,
    Box,
    Collective,
    Compute,
    Job,
    Load,
    Program,
    RankClass,
    Receive,
    Send,
    Store,
)
from folders import read

COUNTS = st.integers(0, 2**62)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6)


@st.composite
def any_job(draw):
    """Some axes, a class for each coordinate of the outermost one, ops of every kind in each."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    axes, stride = [], 1
    for at, size in enumerate(sizes):
        axes.append(Axis(f"axis{at}", stride, size))
        stride *= size
    names = [axis.name for axis in axes]
    chosen = st.lists(st.sampled_from(names), min_size=1, unique=True).map(lambda some: tuple(sorted(some)))
    groups = [AxisGroup(chosen_axes) for chosen_axes in draw(st.lists(chosen, max_size=2, unique=True))]
    groups += [AxisGroup((axis.name,), only=(0, 2)) for axis in axes if axis.size == 4]
    involved = tuple(draw(st.booleans()) for _ in axes)
    if any(involved):
        whole = tuple(name for name, takes_part in zip(names, involved, strict=True) if takes_part)
        groups.append(AxisGroup(whole, dimensions=involved))
    programs = tuple(
        Program(tuple(draw(any_op(2 * number, axes, groups, outermost)) for number in range(draw(st.integers(1, 6)))))
        for outermost in range(sizes[-1])
    )
    machine = jobs.machine(*((draw(st.sampled_from(["Ring", "Switch"])), size) for size in sizes))
    distinct = tuple(dict.fromkeys(programs))
    boxes = {}
    for outermost, program in enumerate(programs):
        boxes.setdefault(distinct.index(program), []).append(outermost)
    every = (None,) * (len(axes) - 1)
    classes = tuple(RankClass(number, (Box((*every, tuple(where))),)) for number, where in boxes.items())
    return Job(draw(NAMES), machine, tuple(axes), distinct, classes)


@st.composite
def any_op(draw, number, axes, groups, outermost):
    common = {
        "id": number,
        "name": draw(NAMES),
        "data": tuple(draw(st.lists(COUNTS, max_size=2))),
        "control": tuple(draw(st.lists(COUNTS, max_size=2))),
    }
    kinds = [Compute, Load, Store, Send, Receive]
    # A class has only some coordinates of the outermost axis: who is not in a group takes no part in it.
    usable = [group for group in groups if not group.only or group.axes[0] != axes[-1].name or outermost in group.only]
    usable = [group for group in usable if not group.only or len(axes) == 1 or group.axes[0] == axes[-1].name]
    kind = draw(st.sampled_from([*kinds, Collective] if usable else kinds))
    if kind in (Send, Receive):
        axis = draw(st.sampled_from(axes))
        offset = axis.offset(draw(st.integers(1, axis.size - 1)))
        return kind(axis=axis.name, offset=offset, bytes=draw(COUNTS), tag=draw(st.integers(0, 2**32 - 1)), **common)
    if kind is Collective:
        group = draw(st.sampled_from(usable))
        return Collective(kind=draw(st.sampled_from(IMPLEMENTED)), bytes=draw(COUNTS), group=group, **common)
    if kind is Compute:
        work = {name: draw(COUNTS) for name in ("num_ops", "tensor_size", "flops", "bytes", "duration")}
        return Compute(host=draw(st.booleans()), **work, **common)
    return kind(bytes=draw(COUNTS), **common)


@given(any_job())
@settings(max_examples=60)
def test_what_is_written_is_what_is_read(job):
    made = emit.emit({"astra-sim-2": job})
    assert not made.diagnostics
    with tempfile.TemporaryDirectory() as folder:
        assert bundle.write(made.value, Path(folder) / "out").ok
        back = read(Path(folder) / "out")
        assert not back.diagnostics
        assert back.value == job
