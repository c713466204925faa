"""One point of a spec -> one row: what `estimate`, sweeps and searches share, in this process or in another."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from astrac import resources
from astrac.api.checking import Chain, Inputs, Options, Stop, chosen, judged, prepared, told
from astrac.api.compiling import NO_ROOM, attempt, compile_point, outlined, planned
from astrac.api.modelling import model_file
from astrac.api.rows import Finding, Row, Setting, flat
from astrac.diagnostics import Diagnosed, Result
from astrac.language import syntax
from astrac.units import Quantity, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.api.compiling import Compiled, Planned
    from astrac.diagnostics import Diagnostic
    from astrac.estimates import Estimate
    from astrac.language.document import Document
    from astrac.language.expression import Value
    from astrac.language.resolve import Prepared


@dataclass(frozen=True)
class Task:
    """A point that is to be evaluated, wherever that is done: it can be pickled.

    Attributes:
        document: elaborated.
        found: what is wrong with it.
        options: of the compilation.
        settings: what was set and what the sweep chose.
        key: the digest of all that the row follows from; None where nobody asks.
    """

    document: Document
    found: tuple[Diagnostic, ...]
    options: Options
    settings: tuple[Setting, ...]
    key: str | None = None

    @property
    def name(self) -> str:
        """Of the point."""
        return self.document.name


class Tasks:
    """The points of a spec that are wanted, one after the other; none after errors before there are points.

    Attributes:
        name: of the spec, as messages show it.
        found: what concerns no single point.
        points: how many there are at most, `where` not asked.
        keys: what is set and swept.
        inputs: the files of the spec.
    """

    def __init__(self, name: str, data: bytes, options: Options, *, keyed: bool = False) -> None:
        """Reads the spec.

        Args:
            name: of the spec.
            data: its text.
            options: profile, settings, what is swept.
            keyed: whether tasks have keys.
        """
        self.name = name
        self.points = 0
        self.keys = tuple(text.partition("=")[0].strip() for text in options.settings)
        self.inputs = Inputs({})
        self.inputs.add(name, data)
        self._options = options
        self._keyed = keyed
        self._spec: Prepared | None = None
        self._before: tuple[Diagnostic, ...] = ()
        self._common: dict[Diagnostic, None] | None = None
        chain = Chain()
        with suppress(Stop):
            spec = prepared(name, data, options, self.inputs, chain)
            with told(spec, chain):
                for point in spec.points():
                    self.keys += tuple(key for key, _ in point.values) if not self.points else ()
                    self.points += 1
            self._spec, self._before, chain.found = spec, tuple(chain.found), []
        self.found = chain.found

    def __iter__(self) -> Iterator[Task]:
        chain = Chain()
        with suppress(Stop):
            for document, apart in chosen(self._spec, self._options, chain) if self._spec is not None else ():
                if document.excluded:
                    continue
                all_ = (*self._before, *apart)
                self._common = dict.fromkeys(each for each in all_ if self._common is None or each in self._common)
                task = Task(document, all_, self._options, tuple(_settings(document, self._options)))
                yield replace(task, key=_key(task)) if self._keyed else task
        self.found += chain.found

    @property
    def in_common(self) -> tuple[Diagnostic, ...]:
        """What concerns no single point, and what all points have in common that were drawn."""
        return (*self.found, *(self._common or ()))


def evaluate(task: Task) -> Row:
    """The row of a point; never raises for what is wrong with the point."""
    return row_of(task, attempted(task, detail=False))


def attempted(task: Task, *, detail: bool) -> Result[Planned]:
    """The plan and the estimate of a point, and all that was found."""
    checked = judged(task.document, task.found)
    return attempt(checked, (), task.options, Inputs({}), partial(planned, detail=detail))


class Bound(NamedTuple):
    """What is known of a point without its steps.

    Attributes:
        code: of the first error; None without one.
        reason: of that.
        memory: bytes of the rank that needs most; None where errors stand in the way.
        least: ns that one training step takes at least.
        room: whether the first error is that it does not fit into memory.
    """

    code: str | None = None
    reason: str | None = None
    memory: int | None = None
    least: float = 0.0
    room: bool = False


def bounded(tasks: Iterable[Task]) -> list[Bound]:
    """What is known of points without their steps; never raises for what is wrong with a point."""
    return [_bounded(task) for task in tasks]


def _bounded(task: Task) -> Bound:
    checked = judged(task.document, task.found)
    made, found = attempt(checked, (), task.options, Inputs({}), outlined)
    error = next((each for each in found if each.is_error), None)
    code, reason = (None, None) if error is None else (error.code, error.message)
    if made is None:
        return Bound(code, reason)
    steps = 1 if made.spec.training is None else made.spec.training.steps
    memory = max(program.memory.total for program in made.programs)
    return Bound(code, reason, memory, max(program.busy for program in made.programs) / steps, code in NO_ROOM)


def compiled(task: Task, inputs: Inputs) -> Result[Compiled]:
    """A point, compiled in memory; inputs are the files of its spec."""
    return attempt(judged(task.document, task.found), (), task.options, Inputs(dict(inputs.contents)), compile_point)


def row_of(task: Task, result: Result[Planned]) -> Row:
    """What became of a point, as a row."""
    made, found = result
    error = next((each for each in found if each.is_error), None)
    row = Row(
        name=task.name,
        settings=task.settings,
        status="ok" if error is None else "failed",
        code=None if error is None else error.code,
        reason=None if error is None else error.message,
        findings=tuple(map(flat, found)),
        key=task.key,
    )
    if made is None:
        return row
    fits = None if made.estimate.memory is None else not any(each.code in (*NO_ROOM, "AS805") for each in found)
    return with_figures(replace(row, fits=fits, capacity_bytes=int(made.spec.hardware.memory.capacity)), made.estimate)


def with_figures(row: Row, values: Estimate) -> Row:
    """A row with the figures of an estimate."""
    need, speed, slowest = values.memory, values.throughput, values.slowest
    row = replace(
        row,
        cycles_max=values.cycles,
        steps=values.steps,
        npus=values.npus,
        step_time_ns=values.cycles / values.steps,
        doubt=values.doubt,
    )
    if slowest is not None:
        row = replace(
            row,
            compute_ns=slowest.compute,
            exposed_communication_ns=slowest.communication,
            memory_ns=slowest.memory,
            host_ns=slowest.host,
            bubble_ns=slowest.bubble,
        )
    if need is not None:
        row = replace(
            row,
            memory_bytes=need.total,
            weights_bytes=need.weights,
            gradients_bytes=need.gradients,
            optimizer_bytes=need.optimizer,
            activations_bytes=need.activations,
            buffers_bytes=need.buffers,
            pool_bytes=need.pool,
        )
    if speed is not None:
        row = replace(
            row,
            samples_per_second=speed.samples_per_second,
            tokens_per_second=speed.tokens_per_second,
            model_flops=float(speed.model_flops),
            utilisation=speed.utilisation,
        )
    return row


def cut_off(task: Task, message: str) -> Row:
    """The row of a point that could not be evaluated, by a fault that is not the point's."""
    found = (Finding("AS930", "error", message),)
    return Row(name=task.name, settings=task.settings, status="failed", code="AS930", reason=message, findings=found)


# -- settings


def _settings(document: Document, options: Options) -> Iterator[Setting]:
    given = [setting.partition("=")[::2] for setting in options.settings]
    for key, text in (*((key.strip(), text.strip()) for key, text in given), *document.point):
        value = _value(document, key)
        if isinstance(value, Quantity):
            whole = value.value.denominator == 1
            unit = spelled(value.dimension)
            number = int(value.value) if whole else float(value.value)
            yield Setting(key, text, number, "" if unit == "1" else unit)
        else:
            yield Setting(key, text, value if isinstance(value, bool | str) else text)


def _value(document: Document, key: str) -> Value | None:
    if key in document.lets:
        return document.lets[key]
    span = document.source.whole()
    try:
        return document.value(syntax.Path(tuple(syntax.Name(step, span) for step in key.split(".")), span))
    except Diagnosed:  # a pick, or something that is wrong and told
        return None


# -- keys


def _key(task: Task) -> str:
    """The digest of a point by content: values with all defaults, files that it reads, and the program itself."""
    document = task.document
    said = (
        program(),
        document.is_spec,
        document.tree,
        sorted(document.lets.items(), key=lambda item: item[0]) if document.assertions else (),
        [each.span.text for each in document.assertions],
        [(each.code, each.message) for each in task.found],
        task.options.strict,
        sorted(_files(document)),
    )
    return sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()


def _files(document: Document) -> Iterator[tuple[str, str]]:
    model = document.tree.get("model") or {}
    if isinstance(path := model.get("onnx"), str):
        yield path, model_file(path, document.near("/model/onnx"))
    if isinstance(path := model.get("times"), str):
        file = Path(document.near("/model/times").source.name).parent / path
        try:
            yield path, sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            yield path, str(error.errno)


@cache
def program() -> str:
    """The digest of the compiler itself: what another version computed is computed anew."""
    digest = sha256()
    folders = [resources.package()]
    for folder in folders:
        for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if entry.is_dir() and entry.name != "_data":
                folders.append(entry)
            elif entry.name.endswith((".py", ".json")):
                digest.update(entry.read_bytes())
    return digest.hexdigest()
