"""From a checked Spec to its bundle and its estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from astrac.api.checking import DEFAULTS, Chain, Checked, Inputs, Options, Stop, check, read
from astrac.api.modelling import model_of
from astrac.bundle import write as write_bundle
from astrac.diagnostics import Diagnostic, Result, diagnostic, has_errors
from astrac.emit import emit
from astrac.estimate import estimate
from astrac.language.assess import assess
from astrac.simulators.astra_sim_1 import check_derived
from astrac.simulators.astra_sim_1.simulate import play
from astrac.simulators.astra_sim_1.translate import translate
from astrac.simulators.astra_sim_2 import simulator as simulator_2
from astrac.simulators.results import Cause, Outcome
from astrac.source import Source
from astrac.training.compute import cost_function
from astrac.training.compute.profile import PHASES, missing_times, read_times
from astrac.training.lower import lower

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.bundle import Bundle
    from astrac.estimate import Estimate
    from astrac.job import Job
    from astrac.language.document import Document
    from astrac.models.model import Model
    from astrac.simulators.astra_sim_1.job import TextJob
    from astrac.simulators.results import Failure
    from astrac.spec import Spec
    from astrac.training.compute import Cost
    from astrac.training.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class Planned:
    """One variant of a spec, up to its estimate.

    Attributes:
        document, spec, model, plan, job: what the passes made of it, one after the other.
        estimate: of the run.
    """

    document: Document
    spec: Spec
    model: Model
    plan: Plan
    job: Job
    estimate: Estimate

    @property
    def name(self) -> str:
        """Of the sweep's point; empty where nothing is swept."""
        return self.document.name


@dataclass(frozen=True)
class Compiled:
    """One variant of a spec, compiled.

    Attributes:
        document, spec, model, plan, job, estimate: as in Planned.
        text_job: for ASTRA-sim 1.0, None where it cannot say the spec.
        bundle: the files, not yet written.
    """

    document: Document
    spec: Spec
    model: Model
    plan: Plan
    job: Job
    estimate: Estimate
    text_job: TextJob | None
    bundle: Bundle

    @property
    def name(self) -> str:
        """Of the sweep's point; empty where nothing is swept."""
        return self.document.name


def plan_points(
    name: str, data: bytes, options: Options = DEFAULTS
) -> tuple[tuple[Document | None, Result[Planned]], ...]:
    """As `plan_data`, each with the document of its point; None for errors before there was one."""
    return _points(name, data, options, _planned)


def plan_data(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Result[Planned], ...]:
    """Every wanted point of a spec, up to its estimate; one result each, or a single one for errors before that."""
    return tuple(result for _, result in plan_points(name, data, options))


def compile_data(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Result[Compiled], ...]:
    """Every wanted point of a spec, compiled in memory; one result each, or a single one for errors before that."""
    return tuple(result for _, result in _points(name, data, options, _compiled))


def _points(
    name: str, data: bytes, options: Options, make: Callable[[Checked, Options, Inputs, Chain], T]
) -> tuple[tuple[Document | None, Result[T]], ...]:
    inputs = Inputs({})
    inputs.add(name, data)
    checked = check(name, data, options, inputs)
    if checked.value is None:
        return ((None, Result(None, checked.diagnostics)),)
    before = checked.diagnostics
    return tuple((point.document, _point(point, before, options, inputs, make)) for point in checked.value)


def _point(
    checked: Checked,
    before: tuple[Diagnostic, ...],
    options: Options,
    inputs: Inputs,
    make: Callable[[Checked, Options, Inputs, Chain], T],
) -> Result[T]:
    chain = Chain()
    try:
        # An assertion that had to wait for an estimate gets one.
        chain.note(finding for finding in (*before, *checked.diagnostics) if finding.code != WAITS)
        value = make(checked, options, Inputs(dict(inputs.contents)), chain)
        return Result(value, _placed(chain.found, checked))
    except Stop:
        return Result(None, _placed(chain.found, checked))


def _placed(found: Sequence[Diagnostic], checked: Checked) -> tuple[Diagnostic, ...]:
    """Findings with the point of the sweep that they are about."""
    if not checked.document.name:
        return tuple(found)
    hint = f"at the sweep's point {checked.document.name}"
    return tuple(replace(finding, hints=(*finding.hints, hint)) for finding in found)


WAITS = "AS591"
"""An assertion that needs an estimate."""


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


def _planned(checked: Checked, options: Options, inputs: Inputs, chain: Chain) -> Planned:
    document, spec = checked.document, checked.spec
    if spec is None:
        chain.note((diagnostic("AS231", "the file is a library of blocks, not a spec", document.source.whole()),))
    assert spec is not None
    model, plan, job = _lowered(spec, document, options, inputs, chain)
    numbers = chain.take(_estimated(job, plan, document))
    if numbers.fails is None and any(finding.code == WAITS for finding in checked.diagnostics):
        done = {finding.labels for finding in checked.diagnostics if finding.code != WAITS}
        chain.note(finding for finding in assess(document, numbers.quantities()) if finding.labels not in done)
    return Planned(document, spec, model, plan, job, numbers)


def _compiled(checked: Checked, options: Options, inputs: Inputs, chain: Chain) -> Compiled:
    planned = _planned(checked, options, inputs, chain)
    job = planned.job
    text_job = None
    cycles = {} if planned.estimate.fails is not None else {"astra-sim-2": planned.estimate.cycles}
    if "astra-sim-1" in options.targets or not options.targets:
        text_job = _text_job(planned, chain, required=bool(options.targets))
    text_cycles = None if text_job is None else play(text_job).cycles
    if text_cycles is not None:
        cycles["astra-sim-1"] = text_cycles
    wants_traces = not options.targets or "astra-sim-2" in options.targets
    emitted = emit(
        job if wants_traces else None,
        text_job,
        estimate=planned.estimate.as_json(),
        cycles=cycles,
        inputs=inputs.digests().items(),
        spec={
            "name": next(iter(inputs.contents)),
            "profile": options.profile,
            "settings": list(options.settings),
            "point": checked.document.name,
            "targets": list(options.targets),
            "strict": options.strict,
        },
    )
    return Compiled(**vars(planned), text_job=text_job, bundle=chain.take(emitted))


def _text_job(planned: Planned, chain: Chain, *, required: bool) -> TextJob | None:
    """The job for ASTRA-sim 1.0; that it has no words for the plan, or would not run it, matters when asked for."""
    translated = translate(planned.plan, planned.job.machine, planned.document.near)
    found = translated.diagnostics if translated.value is None else check_derived(translated.value)
    if required:
        chain.note(found)
    return None if has_errors(found) else translated.value


def _lowered(spec: Spec, document: Document, options: Options, inputs: Inputs, chain: Chain) -> tuple[Model, Plan, Job]:

    model = model_of(spec, document, options, inputs, chain)
    plan = chain.take(lower(spec, model, _cost(spec, document, model, inputs, chain), document.near))
    job = chain.take(simulator_2.lower(plan, document.near))
    return model, plan, job


def _cost(spec: Spec, document: Document, model: Model, inputs: Inputs, chain: Chain) -> Cost:
    """The cost function that the spec asks for; reads measured times."""
    if spec.model.times is None:
        return cost_function(spec.hardware)

    span = document.near("/model/times")
    path = Path(span.source.name).parent / spec.model.times
    try:
        data = read(str(path))
        source = Source(str(path), data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "not UTF-8").lower()
        chain.note((diagnostic("AS655", f"cannot read the times `{spec.model.times}`: {reason}", span),))
        raise Stop from None
    inputs.add(spec.model.times, data)
    times = chain.take(read_times(source, model))
    learns = spec.training is not None and spec.training.pass_ == "training"
    if spec.model.times_rest == "error":
        chain.note(missing_times(source, times, model.layers, PHASES if learns else PHASES[:1]))
    return cost_function(spec.hardware, times)


def _estimated(job: Job, plan: Plan, document: Document) -> Result[Estimate]:
    """The estimate, and whether what it needs fits into memory; a schedule of ours that does not end is our bug."""
    result = estimate(job, plan, backend=plan.spec.system.backend)
    assert result.value is not None
    found = list(result.diagnostics)
    if result.value.failure is not None:
        found.append(_failure(result.value.failure, plan.spec, document))
    return Result(result.value, tuple(found))


def _failure(failure: Failure, spec: Spec, document: Document) -> Diagnostic:
    """Of a run that does not end: chunks of all-reduces can wait for each other, anything else is our bug."""
    system = spec.system
    circular = len(spec.topology.dimensions) > 1 and system.optimization == "local_bw_aware" and system.chunks > 1
    if circular and failure.cause in {Cause.COLLECTIVE, Cause.STREAMS}:
        hints = (f"`active_chunks: {system.chunks}`, `chunks: 1` or `optimization: baseline` avoid it",)
        return diagnostic("AS719", failure.reason, document.near("/system/active_chunks"), hints=hints)
    if failure.outcome is Outcome.UNKNOWN:
        return diagnostic("AS809", f"there is no estimate: {failure.reason}", document.near("/system/backend"))
    return diagnostic("AS921", failure.reason, document.near(""))


def write(
    compiled: Compiled, folder: str | Path, *, copy: bool = False, progress: Callable[[int], None] | None = None
) -> Result[Path]:
    """Puts the bundle into a folder, whole or not at all.

    Args:
        compiled: what to write.
        folder: new, empty, or with a bundle of ours.
        copy: write equal files several times instead of linking them.
        progress: told the bytes of each file that is written.
    """
    return write_bundle(compiled.bundle, folder, copy=copy, progress=progress)
