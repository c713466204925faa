"""The simulators, a row each, and what a file or a folder is to them.

A file is known by what is in it: ASTRA-sim's files have no names of their own.
"""

from __future__ import annotations

import re

from astrac.simulators import check_spec
from astrac.simulators.rows import Ability, FileKind, Simulator

_SHARED_OPTIONS = frozenset(
    {
        "--network-configuration",
        "--system-configuration",
        "--workload-configuration",
        "--num-queues-per-dim",
        "--injection-scale",
        "--compute-scale",
        "--comm-scale",
        "--rendezvous-protocol",
    }
)

SIMULATORS: tuple[Simulator, ...] = (
    Simulator(
        "astra-sim-2",
        title="ASTRA-sim 2.x",
        package="astrac.simulators.astra_sim_2",
        reads=("trace", "network", "system", "memory", "groups", "custom-table"),
        needs=("network", "system", "trace"),
        takes=("memory", "groups"),
        abilities=frozenset(Ability),
        backends=("congestion_unaware", "congestion_aware"),
        options=_SHARED_OPTIONS
        | {
            "--remote-memory-configuration",
            "--comm-group-configuration",
            "--logging-configuration",
            "--logging-folder",
        },
        variable="ASTRA_SIM",
    ),
    Simulator(
        "astra-sim-1",
        title="ASTRA-sim 1.0",
        package="astrac.simulators.astra_sim_1",
        reads=("network-1", "system-1", "workload-1"),
        needs=("network-1", "system-1", "workload-1"),
        abilities=frozenset(Ability),
        options=_SHARED_OPTIONS | {"--num-passes"},
        variable="ASTRA_SIM_1",
    ),
    Simulator(
        "ns3",
        title="ASTRA-sim on ns-3",
        package="astrac.simulators.ns3",
        reads=("ns3-logical", "ns3-topology", "ns3-config"),
        needs=("ns3-logical", "system", "trace"),
        takes=("ns3-topology", "ns3-config", "memory", "groups"),
        backends=("ns3",),
    ),
)
"""The first is what a spec's estimate is made for."""

SPEC_RULES = check_spec.RULES
"""What the topology and the system of a spec ask of simulators, in the form of `training.rules`."""

circular, staggered, may_wait = check_spec.circular, check_spec.staggered, check_spec.may_wait

SPEC = "spec"
"""The kind of our own files."""

_SUFFIXES = (".yml", ".yaml", ".json", ".txt", ".cfg", ".conf", ".config", ".topo")
"""Of texts that may be inputs; a name without a dot may be one too."""


def simulators(*abilities: Ability) -> tuple[Simulator, ...]:
    """Those that can be asked for all of these, in the order of the table."""
    return tuple(simulator for simulator in SIMULATORS if simulator.abilities.issuperset(abilities))


def named(name: str) -> Simulator:
    """The one with a name."""
    return next(simulator for simulator in SIMULATORS if simulator.name == name)


def kinds() -> dict[str, FileKind]:
    """All kinds of files by their word; those that are told by shape alone come last."""
    found = [entry for simulator in SIMULATORS for entry in simulator.kinds.items()]
    return dict(sorted(found, key=lambda entry: entry[1].last))


def words() -> tuple[str, ...]:
    """Words for `--kind`."""
    return tuple(word for simulator in SIMULATORS for word in simulator.reads)


def reader(kind: str) -> Simulator:
    """The simulator that a kind of files belongs to."""
    return next(simulator for simulator in SIMULATORS if kind in simulator.reads)


def rivals(kind: str) -> list[FileKind]:
    """The kinds of other simulators that play the part of this one for them."""
    known = kinds()
    role = known[kind].role
    return [row for word, row in known.items() if role and row.role == role and word != kind]


def ports(block: str, size: int) -> int:
    """How many messages a rank can send at once, each at the full bandwidth, in a dimension of a Machine."""
    from astrac.simulators.blocks import by_name_2  # noqa: PLC0415 - a check does without

    return by_name_2(block).ports(size)


def word_in_groups() -> str:
    """The algorithm's word in a communicator group whose Machine lists more than one."""
    from astrac.simulators.algorithms import IN_GROUPS, Named  # noqa: PLC0415 - a check does without

    return Named(IN_GROUPS).astra_sim_2


def targets() -> list[str]:
    """Words for `--target`."""
    return sorted(simulator.name for simulator in simulators(Ability.BUILD))


def backends(*, simulated: bool = False) -> tuple[str, ...]:
    """Words for `--backend`: all, or those whose time is known."""
    able = simulators(Ability.SIMULATE) if simulated else SIMULATORS
    return tuple(word for simulator in able for word in simulator.backends)


_FOREIGN = (
    (
        re.compile(rb'\s*[{].{0,4000}"traceEvents"\s*:', re.DOTALL),
        "this is a Kineto (Chrome) trace, and ASTRA-sim reads Chakra's",
        "`chakra_trace_link` joins it with the host's execution trace, and `chakra_converter` makes Chakra traces",
    ),
    (
        re.compile(rb'\s*[{].{0,4000}"schema"\s*:\s*"[\d.]+-chakra', re.DOTALL),
        "this is a PyTorch execution trace, and ASTRA-sim reads Chakra's",
        "`chakra_trace_link` joins it with the Kineto trace, and `chakra_converter` makes Chakra traces",
    ),
)
"""Files of other tools: how they begin, what they are, and which tool makes ours of them."""


def foreign(data: bytes) -> tuple[str, str] | None:
    """What a file of another tool is, and what to do with it; None when it is none that is known."""
    return next(((what, how) for pattern, what, how in _FOREIGN if pattern.match(data)), None)


def recognise(name: str, data: bytes) -> str | None:
    """The word of a file's kind, None when it is none of ours.

    Args:
        name: of the file; only its end counts.
        data: the bytes, or the first megabytes of them.
    """
    if name.endswith(".astra"):
        return SPEC
    known = kinds()
    for word, kind in known.items():
        if kind.signature is not None and (name.endswith(kind.suffix) or kind.signature.match(data)):
            return word
    base = name.rpartition("/")[2].lower()
    if "." in base and not base.endswith(_SUFFIXES):
        return None  # a program or a page that shows such a file is none
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return next((word for word, kind in known.items() if kind.is_text and kind.belongs(text, base)), None)
