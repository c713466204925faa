"""From a checked Spec to its bundle and its estimate."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import chain as chained
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from astrac.api.checking import DEFAULTS, Chain, Checked, Inputs, Options, Stop, check, read
from astrac.api.modelling import model_of, spec_of
from astrac.bundle import write as write_bundle
from astrac.diagnostics import Diagnostic, Result, diagnostic, has_errors
from astrac.emit import emit
from astrac.estimates import estimate
from astrac.language.assess import assess
from astrac.language.home import at_home
from astrac.simulators.protocol import Ability, Cause, Outcome
from astrac.simulators.table import circular, may_wait, simulators, staggered
from astrac.source import Source
from astrac.spec import Spec, System
from astrac.training.compute import cost_function
from astrac.training.compute.profile import PHASES, missing_times, read_times
from astrac.training.finding import written
from astrac.training.lower import Brief, lower
from astrac.training.lower.memory import fits
from astrac.training.lower.unroll import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from astrac.bundle import Bundle
    from astrac.estimates import Estimate
    from astrac.language.document import Document
    from astrac.models.model import Model
    from astrac.simulators.protocol import Failure, SimulationResult, Simulator
    from astrac.training.compute import Cost
    from astrac.training.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class Planned:
    """One variant of a spec, up to its estimate.

    Attributes:
        document, spec, model, plan: what the passes made of it, one after the other.
        job: for the first simulator of the table, whose time the estimate is.
        estimate: of the run.
    """

    document: Document
    spec: Spec
    model: Model
    plan: Plan
    job: Any
    estimate: Estimate

    @property
    def name(self) -> str:
        """The name of the sweep's point; empty where nothing is swept."""
        return self.document.name


@dataclass(frozen=True)
class Compiled(Planned):
    """One variant of a spec, compiled.

    Attributes:
        jobs: by the name of the simulator that runs each; one that cannot say the spec has none.
        bundle: the files, not yet written.
    """

    jobs: Mapping[str, Any]
    bundle: Bundle


def plan_data(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Result[Planned], ...]:
    """Every wanted point of a spec, up to its estimate; one result each, or a single one for errors before that."""
    return tuple(result for _, result in points(name, data, options, planned))


def compile_data(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Result[Compiled], ...]:
    """Every wanted point of a spec, compiled in memory; one result each, or a single one for errors before that."""
    return tuple(result for _, result in points(name, data, options, compile_point))


def points(
    name: str, data: bytes, options: Options, make: Callable[[Checked, Options, Inputs, Chain], T]
) -> tuple[tuple[Document | None, Result[T]], ...]:
    """Every wanted point of a spec: its document, None for errors before there was one, and what is made of it."""
    inputs = Inputs({})
    inputs.add(name, data)
    checked = check(name, data, options, inputs)
    if checked.value is None:
        return ((None, Result(None, checked.diagnostics)),)
    found: list[tuple[Document | None, Result[T]]] = []
    for point in checked.value:
        value, all_ = attempt(point, checked.diagnostics, options, Inputs(dict(inputs.contents)), make)
        found.append((point.document, Result(value, placed(all_, point.document.name))))
    return tuple(found)


def attempt(
    point: Checked,
    before: Iterable[Diagnostic],
    options: Options,
    inputs: Inputs,
    make: Callable[[Checked, Options, Inputs, Chain], T],
) -> Result[T]:
    """What is made of one point, None where errors stand in the way, and all that was found."""
    chain, value = Chain(), None
    with suppress(Stop):
        chain.note((*before, *point.diagnostics))
        value = make(point, options, inputs, chain)
    return Result(value, tuple(at_home(point.document, each) for each in chain.found))


def placed(found: Iterable[Diagnostic], point: str) -> tuple[Diagnostic, ...]:
    """Findings with a hint that says at which point of a sweep they are; `once` puts those of all points together."""
    where = (f"{AT_POINT}{point}",) if point else ()
    return tuple(replace(each, hints=(*each.hints, *where)) for each in found)


AT_POINT = "at the sweep's point "
"""How the hint begins that says of which point a finding is."""


def once(results: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    """The findings of a sweep's points: what several have in common is told of the first, and of how many."""
    found: dict[Diagnostic, dict[str, None]] = {}
    for finding in chained.from_iterable(results):
        point = [hint for hint in finding.hints[-1:] if hint.startswith(AT_POINT)]
        bare = replace(finding, hints=finding.hints[:-1]) if point else finding
        found.setdefault(bare, {}).update(dict.fromkeys(point))
    told: list[Diagnostic] = []
    for finding, at in found.items():
        first, more = next(iter(at), ""), f" and {len(at) - 1} more" if len(at) > 1 else ""
        told.append(replace(finding, hints=(*finding.hints, f"{first}{more}")) if at else finding)
    return tuple(told)


WAITS = "AS591"
"""An assertion that needs an estimate."""

NO_ROOM = ("AS540", "AS541")
"""What does not fit into memory: an error, and a run all the same."""


def examine(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Diagnostic, ...]:
    """All that `build` would say about a spec, or about a library of blocks; every wanted point, each finding once.

    The step is lowered in brief: a micro-batch more shows nothing new, nor does a unit like others. It is simulated
    where chunks can wait for each other. That a whole step is too much to simulate (AS809), and what an estimate is
    asserted to be (AS590), is told by who simulates it.
    """
    return once(result.diagnostics for _, result in points(name, data, options, _examined))


def _examined(checked: Checked, options: Options, inputs: Inputs, chain: Chain) -> None:
    spec, document = checked.spec, checked.document
    if spec is None:
        return
    # What waits for what is shown by all units only.
    brief = Brief.MICRO_BATCHES if staggered(spec) else Brief.UNITS
    _, plan, job = _lowered(spec, document, options, inputs, chain, brief)
    if may_wait(plan):
        failure = _estimating().wing.simulate(job, spec.system.backend).failure
        if failure is not None and failure.outcome is not Outcome.UNKNOWN:
            chain.note((_failure(failure, plan, document),))


def _lowered(
    spec: Spec, document: Document, options: Options, inputs: Inputs, chain: Chain, brief: Brief | None = None
) -> tuple[Model, Plan, Any]:
    """The model, the plan, and the job for the simulator whose time the estimate is."""
    model = model_of(spec, document, options, inputs, chain)
    cost = _cost(spec, document, model, inputs, chain)
    lowered = None
    if brief is Brief.SAMPLED and spec.model.times is None:
        kept = _sampled(_without_network(spec), _Same(model))
        room = () if kept.value is None else tuple(fits(kept.value, document.near))
        # Anything but that it does not fit is found anew, in its place.
        if kept.value is not None and len(room) == len(kept.diagnostics):
            lowered = Result(replace(kept.value, spec=spec), room)
    if lowered is None:
        lowered = lower(spec, model, cost, document.near, brief=brief)
    plan = chain.keep(lowered)
    if any(each.is_error and each.code not in NO_ROOM for each in lowered.diagnostics):
        raise Stop
    return model, plan, chain.take(_estimating().wing.lower(plan, document.near))


class _Same:
    """A model that is equal to itself alone, which is quicker to tell than by its layers."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)


@lru_cache(maxsize=8)
def _sampled(spec: Spec, model: _Same) -> Result[Plan]:
    """The sampled plan of a spec; what is found about it has no place."""
    nowhere = Source("").whole()
    return lower(spec, model.model, cost_function(spec.hardware), lambda _: nowhere, brief=Brief.SAMPLED)


def _without_network(spec: Spec) -> Spec:
    """A spec as far as its plan depends on it: of the network the dimensions alone."""
    numbers = {"bandwidth": Fraction(1), "latency": Fraction(0), "algorithm": None, "window": None, "algorithms": None}
    dimensions = tuple(replace(dimension, **numbers) for dimension in spec.topology.dimensions)  # type: ignore[arg-type]
    system = System(
        algorithm="ring",
        chunks=1,
        active_chunks=1,
        optimization="baseline",
        endpoint_delay=Fraction(0),
        scheduling="lifo",
        backend="congestion_unaware",
    )
    # What an ONNX model's axes are bound to, the layers say.
    model = replace(spec.model, bind=None)
    return replace(spec, topology=replace(spec.topology, dimensions=dimensions), system=system, model=model)


def planned(checked: Checked, options: Options, inputs: Inputs, chain: Chain, *, detail: bool = True) -> Planned:
    """The plan and the estimate of one variant, with a job for the simulator whose time the estimate is.

    There is an estimate of what does not fit into memory and of what is asserted otherwise: those errors are kept.
    Without detail the plan and the job are samples where these tell the time.
    """
    document, spec = checked.document, spec_of(checked, chain)
    # An assertion that had to wait for an estimate gets one.
    chain.found = [finding for finding in chain.found if finding.code != WAITS]
    model, plan, job = _lowered(spec, document, options, inputs, chain, None if detail else Brief.SAMPLED)
    wing = _estimating().wing
    result = wing.simulate(job, spec.system.backend)
    if result.outcome is Outcome.SAMPLED:
        plan = chain.take(whole(plan, document.near))
        job = chain.take(wing.lower(plan, document.near))
        result = wing.simulate(job, spec.system.backend)
    numbers = estimate(result, job, plan, detail=detail)
    if numbers.failure is not None:
        chain.note((_failure(numbers.failure, plan, document),))
    elif any(finding.code == WAITS for finding in checked.diagnostics):
        done = {finding.labels for finding in checked.diagnostics if finding.code != WAITS}
        chain.found += (each for each in assess(document, numbers.quantities()) if each.labels not in done)
    return Planned(document, spec, model, plan, job, numbers)


def outlined(checked: Checked, options: Options, inputs: Inputs, chain: Chain) -> Plan:
    """The plan of one variant without its steps: what ranks keep, and how long they compute at least."""
    document, spec = checked.document, spec_of(checked, chain)
    chain.found = [finding for finding in chain.found if finding.code != WAITS]
    model = model_of(spec, document, options, inputs, chain)
    cost = _cost(spec, document, model, inputs, chain)
    return chain.keep(lower(spec, model, cost, document.near, brief=Brief.STEPS))


def _estimating() -> Simulator:
    """The simulator whose time a spec's estimate is."""
    return simulators(Ability.BUILD, Ability.SIMULATE)[0]


def compile_point(checked: Checked, options: Options, inputs: Inputs, chain: Chain) -> Compiled:
    """One variant, with a job for every simulator that is wanted and the bundle of them all."""
    made = planned(checked, options, inputs, chain)
    if has_errors(chain.found):
        raise Stop
    jobs: dict[str, Any] = {}
    cycles: dict[str, int] = {}
    for simulator in simulators(Ability.BUILD):
        if options.targets and simulator.name not in options.targets:
            continue
        if simulator == _estimating():
            jobs[simulator.name] = made.job
            result: Estimate | SimulationResult | None = made.estimate
        else:
            lowered = simulator.wing.lower(made.plan, made.document.near)
            if options.targets:  # only then it matters why there is no job
                chain.note(lowered.diagnostics)
            if lowered.value is None or has_errors(lowered.diagnostics):
                continue
            jobs[simulator.name] = lowered.value
            result = simulator.wing.simulate(lowered.value, None) if simulator.can(Ability.SIMULATE) else None
        if result is not None and result.failure is None:
            cycles[simulator.name] = result.cycles
    emitted = emit(
        jobs,
        estimate=made.estimate.as_json(),
        cycles=cycles,
        inputs=inputs.digests().items(),
        spec={
            "name": next(iter(inputs.contents)),
            **{key: value for key, value in vars(options).items() if key != "over"},
            "point": made.name,
        },
    )
    return Compiled(**vars(made), jobs=jobs, bundle=chain.take(emitted))


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
        raise chain.refused("AS655", f"cannot read the times `{spec.model.times}`: {reason}", span) from None
    inputs.add(spec.model.times, data)
    times = chain.take(read_times(source, model))
    learns = spec.training is not None and spec.training.pass_ == "training"
    if spec.model.times_rest == "error":
        chain.note(missing_times(source, times, model.layers, PHASES if learns else PHASES[:1]))
    return cost_function(spec.hardware, times)


def _failure(failure: Failure, plan: Plan, document: Document) -> Diagnostic:
    """Of a run that does not end: chunks of all-reduces can wait for each other, anything else is our bug."""
    if circular(plan.spec) and failure.cause in {Cause.COLLECTIVE, Cause.STREAMS}:
        hints = [f"`system {{ {text} }}` avoids it" for text in islice(_cures(plan, document), 1)]
        place = written(document.near, "/system/active_chunks", "/system/chunks", "/topology")
        return diagnostic("AS719", failure.reason, place, hints=hints)
    if failure.outcome is Outcome.UNKNOWN:
        place = written(document.near, "/system/backend", "/topology")
        return diagnostic("AS809", f"there is no estimate: {failure.reason}", place)
    return diagnostic("AS921", failure.reason, document.near(""))


def _cures(plan: Plan, document: Document) -> Iterator[str]:
    """Settings of the system with which a run ends whose chunks wait for each other: each was tried."""
    wing, system = _estimating().wing, plan.spec.system
    others = {
        f"active_chunks: {system.chunks}": replace(system, active_chunks=system.chunks),
        "optimization: baseline": replace(system, optimization="baseline"),
        "chunks: 1": replace(system, chunks=1),
    }
    for text, other in others.items():
        job = wing.lower(replace(plan, spec=replace(plan.spec, system=other)), document.near).value
        if job is not None and wing.simulate(job, other.backend).failure is None:
            yield text


def write(
    compiled: Compiled,
    folder: str | Path,
    *,
    copy: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
    shared: dict[str, Path] | None = None,
) -> Result[Path]:
    """Puts the bundle into a folder, whole or not at all.

    Args:
        compiled: what to write.
        folder: new, empty, or with a bundle of ours.
        copy: write equal files several times instead of linking them.
        overwrite: files of a bundle there that somebody changed, too.
        progress: told the bytes of each file that is written.
        shared: files of other points, by digest, which equal ones here are links to; those of this one come to them.
    """
    return write_bundle(compiled.bundle, folder, copy=copy, overwrite=overwrite, progress=progress, shared=shared)
