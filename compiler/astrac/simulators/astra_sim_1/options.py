"""ASTRA-sim 1.0's command line, as far as it changes a job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from astrac.simulators.astra_sim_1.job import TextJob, TextNetwork

FILES = ("--network-configuration", "--system-configuration", "--workload-configuration")
REPORT = ("--path", "--run-name", "--total-stat-rows", "--stat-row")
"""Options with one value that change no time."""


@dataclass(frozen=True, slots=True)
class Option:
    """What an option sets: an attribute of the job, or of every dimension of its network."""

    attribute: str
    value: Callable[[str], Any]
    dimensions: bool = False


OPTIONS: dict[str, Option] = {
    "--num-passes": Option("passes", int),
    "--num-queues-per-dim": Option("queues", int),
    "--compute-scale": Option("compute_scale", float),
    "--comm-scale": Option("comm_scale", float),
    "--injection-scale": Option("injection_scale", float),
    "--rendezvous-protocol": Option(
        "rendezvous", lambda text: {"true": True, "1": True, "false": False, "0": False}[text]
    ),
    "--units-count": Option("size", int, dimensions=True),
    "--links-count": Option("links", int, dimensions=True),
    "--link-bandwidth": Option("bandwidth", float, dimensions=True),
    "--link-latency": Option("latency", float, dimensions=True),
}


def apply_options(job: TextJob, arguments: Sequence[str]) -> Result[TextJob]:
    """The job with the command line laid over it; AS757 for what the simulator does not take."""
    try:
        for name, values in _split(arguments):
            job = _apply(job, name, values)
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))
    return Result(job)


def _split(arguments: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Options with their values; `--name=value` is one of each."""
    result: list[tuple[str, list[str]]] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if argument.startswith("--"):
            result.append((name, [value] if equals else []))
        elif result:
            result[-1][1].append(argument)
        else:
            raise _wrong(f"`{argument}` is not an option")
    return result


def _apply(job: TextJob, name: str, values: list[str]) -> TextJob:
    if name in FILES or name in REPORT:
        return job
    option = OPTIONS.get(name)
    if option is None:
        raise _wrong(f"ASTRA-sim 1.0 has no option `{name}`", did_you_mean(name, (*OPTIONS, *FILES, *REPORT)))
    try:
        read = [option.value(value) for value in values]
    except (ValueError, KeyError):
        raise _wrong(f"`{name}` cannot be `{' '.join(values)}`") from None
    if option.dimensions:
        return replace(job, network=_override(job.network, name, option, read))
    if len(read) != 1:
        raise _wrong(f"`{name}` takes one value, not {len(read)}")
    changes: dict[str, Any] = {option.attribute: read[0]}
    return replace(job, **changes)


def _override(network: TextNetwork, name: str, option: Option, values: list[Any]) -> TextNetwork:
    if len(values) != len(network.dimensions):
        raise _wrong(f"`{name}` has {len(values)} values for {len(network.dimensions)} dimensions")
    pairs = zip(network.dimensions, values, strict=True)
    dimensions = tuple(replace(dimension, **{option.attribute: value}) for dimension, value in pairs)
    return replace(network, dimensions=dimensions)


def _wrong(message: str, hints: Sequence[str] = ()) -> Diagnosed:
    return Diagnosed(diagnostic("AS757", message, hints=hints))
