"""Chains the passes: the only module that does.

    source -> parse -> resolve -> (a variant a point of the sweep) -> elaborate -> validate -> construct -> rules
           -> layers -> lower -> schedule -> verify -> estimate -> emit

Errors are collected inside a pass; between passes the chain stops when there are any.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from astrac import resources, syntax
from astrac.codes import CODES
from astrac.construct import construct
from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.document import Document
from astrac.elaborate import elaborate
from astrac.parse import parse
from astrac.resolve import resolve
from astrac.rules import rules
from astrac.source import Source
from astrac.validate import validate

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.bundle import Bundle
    from astrac.compute import Cost
    from astrac.estimate import Estimate
    from astrac.job import Job
    from astrac.model import Model
    from astrac.plan import Plan
    from astrac.spec import Spec
    from astrac.text_job import TextJob

T = TypeVar("T")

MAX_SPEC_BYTES = 16 * 2**20
"""Specs are short; a file beyond this is something else."""


@dataclass(frozen=True)
class Options:
    """What a command line says about a compilation.

    Attributes:
        profile: overlay of the spec, by name.
        settings: `path=value` texts, laid over the spec last.
        point: of the sweep, by name; None for all.
        targets: words of `targets.TARGETS`; () for all that can say the spec.
        strict: an unknown ONNX operator is an error.
    """

    profile: str | None = None
    settings: tuple[str, ...] = ()
    point: str | None = None
    targets: tuple[str, ...] = ()
    strict: bool = False


@dataclass(frozen=True)
class Checked:
    """One variant of a spec, as far as it could be checked without a model.

    Attributes:
        document: elaborated.
        spec: None where errors stand in the way, or for a library.
        diagnostics: of this variant alone.
    """

    document: Document
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Compiled:
    """One variant of a spec, compiled.

    Attributes:
        document, spec, model, plan, job: what the passes made of it, one after the other.
        text_job: for ASTRA-sim 1.0, None where it cannot say the spec.
        estimate: of the training step.
        bundle: the files, not yet written.
        diagnostics: warnings and notes.
    """

    document: Document
    spec: Spec
    model: Model
    plan: Plan
    job: Job
    text_job: TextJob | None
    estimate: Estimate
    bundle: Bundle
    diagnostics: tuple[Diagnostic, ...]

    @property
    def name(self) -> str:
        """Of the sweep's point; empty where nothing is swept."""
        return self.document.name


class _Stop(Exception):  # noqa: N818 - ends a chain, is no error of the program
    """Errors between two passes."""


class _Chain:
    """Runs passes one after the other and keeps what they found."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def take(self, result: Result[T]) -> T:
        """The value of a pass; what it found is kept. Raises _Stop when that is an error."""
        self.found += result.diagnostics
        if result.value is None or has_errors(result.diagnostics):
            raise _Stop
        return result.value

    def note(self, findings: Iterable[Diagnostic]) -> None:
        """Findings without a value; raises _Stop when there is an error among them."""
        findings = tuple(findings)
        self.found += findings
        if has_errors(findings):
            raise _Stop


# -- text to Spec


def _read(path: str) -> bytes:
    """The bytes of a spec or of a file that one uses; `std/...` is the shipped library."""
    if path.startswith("std/"):
        return resources.resource("specs", *path.split("/")).read_bytes()
    with Path(path).open("rb") as file:
        data = file.read(MAX_SPEC_BYTES + 1)
    if len(data) > MAX_SPEC_BYTES:
        raise OSError(27, f"more than {MAX_SPEC_BYTES // 2**20} MiB")
    return data


@dataclass
class _Inputs:
    """Everything that a compilation reads, by the name that the manifest gives it, with its digest."""

    digests: dict[str, str]

    def load(self, path: str) -> Result[syntax.File]:
        """A file that a spec uses; raises OSError."""
        data = _read(path)
        self.add(path, data)
        return parse(path, data)

    def add(self, path: str, data: bytes) -> None:
        """A file by its base name, a shipped one by its path in the library."""
        name = path if path.startswith("std/") else Path(path).name
        self.digests[name] = "sha256:" + hashlib.sha256(data).hexdigest()


def _settings(texts: Sequence[str]) -> Result[tuple[syntax.Attribute, ...]]:
    """What `--set path=value` says, as attributes; the value is read as in a spec."""
    found: list[syntax.Attribute] = []
    for text in texts:
        key, equals, value = text.partition("=")
        parsed = parse("--set", f"{key.strip()}: {value}".encode()) if equals else None
        items = () if parsed is None or parsed.value is None else parsed.value.items
        if parsed is not None and has_errors(parsed.diagnostics):
            return Result(None, parsed.diagnostics)
        if len(items) != 1 or not isinstance(items[0], syntax.Attribute):
            place = Source("--set", text).span(0, len(text))
            return Result(None, (diagnostic("AS232", "`--set` takes `path=value`", place),))
        found.append(items[0])
    return Result(tuple(found))


def variants(
    name: str, data: bytes, options: Options, inputs: _Inputs | None = None
) -> Result[tuple[Document, ...]]:
    """The elaborated and validated documents of a spec: one for each point of its sweep that is wanted."""
    chain, inputs = _Chain(), inputs or _Inputs({})
    try:
        file = chain.take(parse(name, data))
        closed = chain.take(resolve(file, inputs.load, options.profile, chain.take(_settings(options.settings))))
        documents = [_document(variant, chain) for variant in closed if options.point in (None, variant.name)]
        if not documents:
            chain.note((_no_point(file.source, options.point, [variant.name for variant in closed]),))
    except _Stop:
        return Result(None, tuple(chain.found))
    return Result(tuple(document for document in documents if not document.excluded), tuple(chain.found))


def _document(variant: syntax.Variant, chain: _Chain) -> Document:
    elaborated = elaborate(variant)
    assert elaborated.value is not None
    chain.found += elaborated.diagnostics
    chain.found += validate(elaborated.value).diagnostics
    return elaborated.value


def _no_point(source: Source, point: str | None, known: Sequence[str]) -> Diagnostic:
    hints = (f"there are: {', '.join(known)}",) if any(known) else ("the spec sweeps nothing",)
    return diagnostic("AS230", f"the sweep has no point `{point}`", source.whole(), hints=hints)


DEFAULTS = Options()


def check(
    name: str, data: bytes, options: Options = DEFAULTS, inputs: _Inputs | None = None
) -> Result[tuple[Checked, ...]]:
    """A spec or a library of blocks, checked as far as it can be without reading a model; writes nothing."""
    documents = variants(name, data, options, inputs)
    if documents.value is None or has_errors(documents.diagnostics):
        return Result(None, documents.diagnostics)
    return Result(tuple(_checked(document) for document in documents.value), documents.diagnostics)


def _checked(document: Document) -> Checked:
    if not document.is_spec:
        return Checked(document, None, ())
    spec = construct(document)
    return Checked(document, spec, rules(spec, document.near))


# -- Spec to bundle


def compile_data(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Result[Compiled], ...]:
    """Every wanted point of a spec, compiled in memory; one result each, or a single one for errors before that."""
    inputs = _Inputs({})
    inputs.add(name, data)
    checked = check(name, data, options, inputs)
    if checked.value is None:
        return (Result(None, checked.diagnostics),)
    return tuple(
        _compile(point, checked.diagnostics, options, _Inputs(dict(inputs.digests))) for point in checked.value
    )


def compile_spec(path: str | Path, options: Options = DEFAULTS) -> Result[Compiled]:
    """Compiles one spec in memory.

    Args:
        path: of a `.astra` file.
        options: profile, settings, the sweep's point, targets.

    Returns:
        The compilation, absent when a diagnostic is an error. A spec with a sweep needs `options.point`.

    Raises:
        OSError: the file cannot be read.
    """
    results = compile_data(str(path), Path(path).read_bytes(), options)
    if len(results) > 1:
        names = ", ".join(result.value.name for result in results if result.value is not None)
        source = Source(str(path))
        return Result(None, (diagnostic("AS230", f"the spec sweeps: choose a point of {names}", source.whole()),))
    return results[0]


def _compile(
    checked: Checked, before: tuple[Diagnostic, ...], options: Options, inputs: _Inputs
) -> Result[Compiled]:
    chain = _Chain()
    try:
        chain.note((*before, *checked.diagnostics))
        return Result(_compiled(checked, options, inputs, chain), tuple(chain.found))
    except _Stop:
        return Result(None, tuple(chain.found))


def _compiled(checked: Checked, options: Options, inputs: _Inputs, chain: _Chain) -> Compiled:
    from astrac.emit import emit
    from astrac.targets.astra_sim_1.translate import translate

    document, spec = checked.document, checked.spec
    if spec is None:
        chain.note((diagnostic("AS231", "the file is a library of blocks, not a spec", document.source.whole()),))
    assert spec is not None
    model, plan, job = _lowered(spec, document, options, inputs, chain)
    numbers = chain.take(_estimated(job, plan, document))
    text_job, cycles = None, {"astra-sim-2": numbers.cycles}
    if "astra-sim-1" in options.targets or not options.targets:
        translated = translate(plan, job.machine, document.near)
        if translated.value is None and options.targets:
            chain.note(translated.diagnostics)
        text_job = translated.value
    text_cycles = None if text_job is None else _text_cycles(text_job)
    if text_cycles is not None:
        cycles["astra-sim-1"] = text_cycles
    wants_traces = not options.targets or "astra-sim-2" in options.targets
    bundle = chain.take(
        emit(
            job if wants_traces else None,
            text_job,
            estimate=numbers.as_json(),
            cycles=cycles,
            inputs=inputs.digests.items(),
        )
    )
    return Compiled(document, spec, model, plan, job, text_job, numbers, bundle, tuple(chain.found))


def _lowered(
    spec: Spec, document: Document, options: Options, inputs: _Inputs, chain: _Chain
) -> tuple[Model, Plan, Job]:
    from astrac.lower import lower
    from astrac.schedule import schedule
    from astrac.verify import verify

    model = _model(spec, document, options, inputs, chain)
    plan = chain.take(lower(spec, model, _cost(spec, document, model, inputs, chain), document.near))
    job = chain.take(schedule(plan))
    chain.note(verify(job, document.near))
    return model, plan, job


def _model(spec: Spec, document: Document, options: Options, inputs: _Inputs, chain: _Chain) -> Model:
    """The layers of one micro-batch."""
    name = spec.model.name or "model"
    if spec.model.transformer is not None:
        from astrac.layers.transformer import read_transformer

        return read_transformer(spec.model.transformer, name, _micro_batch(spec))
    if spec.model.onnx is None:
        from astrac.model import Model

        return Model(name, (), 1)
    from astrac.layers.onnx import read_model

    span = document.near("/model/onnx")
    path = spec.model.onnx
    bind = spec.model.bind
    model = chain.take(
        read_model(
            name,
            path if path.startswith("zoo:") else str(Path(span.source.name).parent / path),
            bind={} if bind is None else dict(bind),
            inputs={entry.name: tuple(entry.shape) for entry in spec.model.inputs or ()},
            batch=_micro_batch(spec),
            ties=tuple((pair[0], pair[1]) for pair in spec.model.tie or ()),
            strict=options.strict,
            span=span,
        )
    )
    inputs.digests[path if path.startswith("zoo:") else Path(path).name] = model.digest
    return model


def _micro_batch(spec: Spec) -> int:
    """Samples at once; by default all that a rank has of a step."""
    from astrac.strategies.placement import place

    assert spec.training is not None
    degrees = place(spec).degrees
    return spec.training.micro_batch or spec.training.global_batch // (degrees["data"] * degrees["expert"])


def _cost(spec: Spec, document: Document, model: Model, inputs: _Inputs, chain: _Chain) -> Cost:
    """The cost function that the spec asks for; reads measured times."""
    from astrac.compute import cost_function

    if spec.model.times is None:
        return cost_function(spec.hardware)
    from astrac.compute.profile import PHASES, missing_times, read_times

    span = document.near("/model/times")
    path = Path(span.source.name).parent / spec.model.times
    try:
        data = _read(str(path))
        source = Source(str(path), data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "not UTF-8").lower()
        chain.note((diagnostic("AS655", f"cannot read the times `{spec.model.times}`: {reason}", span),))
        raise _Stop from None
    inputs.add(spec.model.times, data)
    times = chain.take(read_times(source, model))
    learns = spec.training is not None and spec.training.pass_ == "training"
    if spec.model.times_rest == "error":
        chain.note(missing_times(source, times, model.layers, PHASES if learns else PHASES[:1]))
    return cost_function(spec.hardware, times)


def _estimated(job: Job, plan: Plan | None, document: Document) -> Result[Estimate]:
    """The estimate, and whether what it needs fits into memory; a schedule of ours that does not end is our bug."""
    from astrac.estimate import estimate

    result = estimate(job, plan)
    assert result.value is not None
    found = list(result.diagnostics)
    if result.value.fails is not None:
        found.append(diagnostic("AS921", result.value.fails, document.near("")))
    return Result(result.value, tuple(found))


def _text_cycles(job: TextJob) -> int | None:
    from astrac.player.text import play

    return play(job).cycles


# -- what commands show and do


def read_spec(path: str) -> bytes:
    """The bytes of a spec. Raises OSError: it cannot be read, or is too large to be one."""
    return _read(path)


def elaborated(checked: Checked) -> str:
    """The elaborated document as JSON, all defaults filled in, numbers exact."""
    from astrac.document import to_json

    return to_json(checked.document.tree)


def layers(
    path: str,
    data: bytes | None,
    options: Options = DEFAULTS,
    *,
    batch: int | None = None,
    bind: dict[str, int] | None = None,
    ties: Sequence[tuple[str, str]] = (),
) -> Result[Model]:
    """The layers of a model file, of `zoo:NAME`, or of the model of a spec.

    Args:
        path: as the user wrote it.
        data: the content of a spec, None for a model.
        options: of a spec.
        batch, bind, ties: of a model file.
    """
    if data is None:
        from astrac.layers.onnx import read_model

        return read_model(Path(path).stem, path, bind=bind, batch=batch, ties=ties, strict=options.strict)
    inputs = _Inputs({})
    checked = check(path, data, options, inputs)
    chain = _Chain()
    try:
        points = chain.take(checked)
        point = points[0]
        chain.note(point.diagnostics)
        if point.spec is None:
            chain.note((diagnostic("AS231", "the file is a library of blocks, not a spec", point.document.source.whole()),))
        assert point.spec is not None
        return Result(_model(point.spec, point.document, options, inputs, chain), tuple(chain.found))
    except _Stop:
        return Result(None, tuple(chain.found))


def write(compiled: Compiled, folder: str | Path, *, copy: bool = False) -> Result[Path]:
    """Puts the bundle into a folder, whole or not at all."""
    from astrac.bundle import write as write_bundle

    return write_bundle(compiled.bundle, folder, copy=copy)


def announcement(compiled: Compiled, folder: str) -> str:
    """One line before anything is written: where, how many files, how many bytes."""
    from astrac.estimate.text import size

    files = sum(max(1, len(artifact.ranks)) for artifact in compiled.bundle.artifacts)
    stored = sum(artifact.size for artifact in compiled.bundle.artifacts)
    return f"bundle      {folder}: {files:,} files for {compiled.job.machine.npus:,} ranks, {size(stored)}"


def summary(compiled: Compiled, folder: str) -> str:
    """What was built, what it will take, and how to run it."""
    from astrac.estimate.text import brief
    from astrac.targets import TARGETS

    built = [name for name in TARGETS if any(a.path.startswith(f"{name}/") for a in compiled.bundle.artifacts)]
    runs = [f"run         {TARGETS[name].variable}=PATH_OF_{TARGETS[name].variable} {folder}/{name}/run.sh" for name in built]
    return "\n".join([*brief(compiled.estimate), *runs])


def report(path: str, compiled: Compiled) -> str:
    """The estimate for people."""
    from astrac.estimate.text import text

    return text(compiled.estimate, f"{path} {compiled.name}".strip())


def estimates_csv(rows: Sequence[tuple[str, Compiled]]) -> str:
    """One row a spec and point: what the sweep chose, then the figures."""
    import csv
    import io

    keys = list(dict.fromkeys(key for _, compiled in rows for key, _ in compiled.document.point))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = ("cycles_max", "step_time_ns", "compute_ns", "exposed_communication_ns", "bubble_ns", "memory_bytes")
    writer.writerow(["spec", "point", *keys, *figures])
    for path, compiled in rows:
        chosen = dict(compiled.document.point)
        values = compiled.estimate
        slowest = max(values.classes, key=lambda entry: entry.cycles, default=None)
        shares = ("", "", "") if slowest is None else (slowest.compute, slowest.communication, slowest.bubble)
        need = "" if values.memory is None else values.memory.total
        picked = (chosen.get(key, "") for key in keys)
        writer.writerow([path, compiled.name, *picked, values.cycles, values.cycles / values.steps, *shares, need])
    return out.getvalue()


def page(code: str) -> str:
    """The page of a diagnostic's code."""
    row = CODES[code]
    parts = [f"{row.code}: {row.title} ({row.severity.value})", row.what, row.why]
    if row.bad:
        parts += ["This is refused:" if row.severity.value == "error" else "This is reported:", _indented(row.bad)]
        parts += ["This is right:", _indented(row.good)]
    return "\n\n".join(parts) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip("\n").split("\n"))


def stale_references() -> tuple[str, ...]:
    """Generated files of the checkout that are not what the schemas and codes say."""
    from astrac.reference import reference

    return tuple(path for path, content in reference().items() if _current(path) != content)


def write_references() -> None:
    """Writes them anew."""
    from astrac.reference import reference

    for path, content in reference().items():
        _checkout(path).write_text(content, encoding="utf-8", newline="\n")


def _current(path: str) -> str | None:
    file = _checkout(path)
    return file.read_text(encoding="utf-8") if file.exists() else None


def _checkout(path: str) -> Path:
    return Path(str(resources.root())) / path
