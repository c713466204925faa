"""Measured times: a CSV file with a row for each layer."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic
from astrac.source import Source
from astrac.suggest import did_you_mean
from astrac.training.compute.cost import Cost, Work, whole_nanoseconds
from astrac.units import UNITS, Dimension

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from astrac.models.model import Layer, Model
    from astrac.source import Span

Times: TypeAlias = "Mapping[tuple[str, str], int]"
"""(layer, phase) to whole nanoseconds, for the phases `forward`, `input_gradient`, `weight_gradient`."""

PHASES = ("forward", "input_gradient", "weight_gradient")

TIME_UNITS = {name: unit.value for name, unit in UNITS.items() if unit.dimension == Dimension(seconds=1)}
"""What a header may hold, in seconds."""

LONGEST = 10**6
"""Seconds that a time may be: anything longer is a wrong unit."""

SUGGESTIONS = 20
"""Unknown names that are compared with all others: a file for another model must not take minutes."""

_CELL = re.compile(r'[ \t]*+"((?:[^"]|"")*+)"[ \t]*+(?=,|\Z)|([^",]*+)(?=,|\Z)')
_HEADER = re.compile(r"([a-z_]+)\s*\[\s*(\w+)\s*\]")
_NUMBER = re.compile(r"\d{1,30}(\.\d{1,30})?([eE][+-]?\d{1,2})?")


class Cell(NamedTuple):
    """A field of the file, without its quotes, and where it stands."""

    text: str
    span: Span


def profile(times: Times, rest: Cost) -> Cost:
    """Prices work at its measured time; recomputation is another forward pass.

    Args:
        times: what one rank takes for one micro-batch of its part of the layer.
        rest: for what was not measured, and the optimizer.
    """

    def cost(work: Work) -> int:
        phase = "forward" if work.phase == "recompute" else work.phase
        measured = times.get((work.layer, phase))
        return rest(work) if measured is None else measured

    return cost


def read_times(source: Source, model: Model) -> Result[Times]:
    """Reads measured times.

    The first line names the columns: `layer` and, each with its unit, `forward [us]`, `input_gradient [us]`,
    `weight_gradient [us]`, in any order. An empty cell was not measured (see `missing_times`). Blank lines and those
    that begin with `#` do not count. Times are cut off to whole ns, at least 1.

    Args:
        source: the file.
        model: whose layers the rows name.
    """
    rows = _rows(source)
    first = next(rows, None)
    if first is None:
        return Result(
            None, (diagnostic("AS651", "a table of times has a header line", source.whole(), hints=[_EXAMPLE]),)
        )
    try:
        columns = _columns(_whole(first))
    except Diagnosed as problem:
        return Result(None, (problem.diagnostic,))
    names = {layer.name for layer in model.layers}
    findings: list[Diagnostic] = []
    seen: dict[str, Span] = {}
    times: dict[tuple[str, str], int] = {}
    for row in rows:
        try:
            layer = _layer(_whole(row), columns, seen)
            if layer.text not in names:
                findings.append(_unknown(layer, names if len(findings) < SUGGESTIONS else ()))
                continue
        except Diagnosed as problem:
            findings.append(problem.diagnostic)
            continue
        for index, (phase, unit) in columns.items():
            if phase == "layer" or not row[index].text:
                continue
            try:
                times[layer.text, phase] = _time(row[index], unit)
            except Diagnosed as problem:
                findings.append(problem.diagnostic)
    return Result(times, tuple(findings))


def missing_times(
    source: Source, times: Times, layers: Collection[Layer], phases: Collection[str]
) -> tuple[Diagnostic, ...]:
    """An error that names the layers without a time, unless there are none; not asked for with `times_rest: estimate`.

    Args:
        source: the file.
        times: what was read from it.
        layers: all that are run.
        phases: those that the training step has: `forward` alone for `pass: forward`.
    """
    wanted = [(layer.name, phase) for layer in layers for phase in phases if _runs(layer, phase)]
    missing = [(layer, phase) for layer, phase in wanted if (layer, phase) not in times]
    if not missing:
        return ()
    shown = ", ".join(f"`{layer}` ({phase})" for layer, phase in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    hint = "add rows for them, or set `times_rest: estimate` in the model to price them by the hardware's peak"
    return (diagnostic("AS650", f"no measured time for {shown}{more}", source.whole(), hints=[hint]),)


_EXAMPLE = "such as `layer,forward [us],input_gradient [us],weight_gradient [us]`"


def _runs(layer: Layer, phase: str) -> bool:
    """Whether a layer has work in a phase."""
    if phase == "input_gradient":
        return layer.input_gradient
    if phase == "weight_gradient":
        return layer.weight is not None and layer.trainable
    return True


def _rows(source: Source) -> Iterator[list[Cell]]:
    """The lines that count, cut into cells; a line whose quotes do not close ends with the cell `_whole` refuses."""
    for number, start in enumerate(source.line_starts, start=1):
        line = source.line(number)
        if line.strip() and not line.startswith("#"):
            yield _cells(source, start, line)


def _cells(source: Source, start: int, line: str) -> list[Cell]:
    cells: list[Cell] = []
    place = 0
    while place <= len(line):
        match = _CELL.match(line, place)
        if match is None:
            return [*cells, Cell('"', source.span(start + place, start + len(line)))]
        text = match[2].strip(" \t") if match[1] is None else match[1]
        begin = start + (match.start(1) if match[2] is None else line.index(text, place))
        cells.append(Cell(text.replace('""', '"'), source.span(begin, begin + len(text))))
        place = match.end() + 1
    return cells


def _whole(row: list[Cell]) -> list[Cell]:
    """The row, unless a quote in it does not close."""
    if row[-1].text == '"':
        raise Diagnosed(
            diagnostic(
                "AS651", 'a quoted field ends with `"` and is followed by a comma or the end of the line', row[-1].span
            )
        )
    return row


def _columns(header: list[Cell]) -> dict[int, tuple[str, Fraction]]:
    """For each column its name and the unit of its numbers, in seconds (of `layer`, nothing)."""
    columns: dict[int, tuple[str, Fraction]] = {}
    places: dict[str, Span] = {}
    if not any(did_you_mean(cell.text.partition(" ")[0], ("layer", *PHASES)) for cell in header):
        # Something else: none of its lines stands in a message.
        nowhere = Source(header[0].span.source.name).whole()
        raise Diagnosed(diagnostic("AS651", "this is no table of times", nowhere, hints=[_EXAMPLE]))
    for index, cell in enumerate(header):
        match = _HEADER.fullmatch(cell.text)
        name, unit = (match[1], match[2]) if match else (cell.text, "")
        if name not in ("layer", *PHASES) or (name == "layer" and unit):
            hints = did_you_mean(name, ("layer", *PHASES)) or (_EXAMPLE,)
            raise Diagnosed(diagnostic("AS651", f"unknown column `{cell.text}`", cell.span, hints=hints))
        if name in places:
            raise Diagnosed(
                diagnostic("AS651", f"column `{name}` stands twice", cell.span, Label(places[name], "first here"))
            )
        if name != "layer" and unit not in TIME_UNITS:
            message = f"unknown unit `{unit}`" if unit else f"column `{name}` has no unit"
            hints = did_you_mean(unit, TIME_UNITS) or (f"write `{name} [us]`; units are ns, us, ms, s",)
            raise Diagnosed(diagnostic("AS651", message, cell.span, hints=hints))
        places[name] = cell.span
        columns[index] = (name, TIME_UNITS.get(unit, Fraction(0)))
    for name in ("layer", *PHASES):
        if name not in places:
            span = header[0].span.to(header[-1].span)
            raise Diagnosed(diagnostic("AS651", f"column `{name}` is missing", span, hints=[_EXAMPLE]))
    return columns


def _layer(row: list[Cell], columns: Mapping[int, tuple[str, Fraction]], seen: dict[str, Span]) -> Cell:
    """The cell with the name of the layer that a row is about; `seen` remembers it."""
    if len(row) != len(columns):
        span = row[0].span.to(row[-1].span)
        raise Diagnosed(diagnostic("AS651", f"a row of {len(row)} fields below a header of {len(columns)}", span))
    cell = next(row[index] for index, (name, _) in columns.items() if name == "layer")
    first = seen.setdefault(cell.text, cell.span)
    if first is not cell.span:
        raise Diagnosed(diagnostic("AS654", f"two rows for layer `{cell.text}`", cell.span, Label(first, "first here")))
    return cell


def _unknown(cell: Cell, choices: Collection[str]) -> Diagnostic:
    hints = did_you_mean(cell.text, choices) or ("`astrac layers` lists the layers of a model",)
    return diagnostic("AS653", f"the model has no layer `{cell.text}`", cell.span, hints=hints)


def _time(cell: Cell, unit: Fraction) -> int:
    """A cell's time in whole nanoseconds."""
    if _NUMBER.fullmatch(cell.text) is None:
        hint = "a number without a unit, not below 0; the unit stands in the header"
        raise Diagnosed(diagnostic("AS652", f"`{cell.text[:40]}` is not a time", cell.span, hints=[hint]))
    seconds = Fraction(cell.text) * unit
    if seconds > LONGEST:
        raise Diagnosed(diagnostic("AS652", f"a time of {float(seconds):g} s is longer than {LONGEST} s", cell.span))
    return whole_nanoseconds(seconds)
