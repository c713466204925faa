"""Traces -> ops, as ASTRA-sim's trace feeder reads them: what it crashes on or reads as something else is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import lt
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic
from astrac.job import Axis, AxisGroup, Collective, Compute, Kind, ListedGroup, Machine, Program, Receive, Send
from astrac.simulators.astra_sim_2 import chakra
from astrac.simulators.astra_sim_2.groups import by_dimensions
from astrac.source import Source
from astrac.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from astrac.job import Group, Op
    from astrac.simulators.astra_sim_2.groups import Names

MAX_NODES = 1 << 20
"""Different ones, of all traces together."""

MAX_FINDINGS = 10
"""Kinds of mistakes: each is told once, at its first node."""

ATTRIBUTES = (
    "is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag",
    "comm_priority", "involved_dim", "pg_name",
)  # fmt: skip
"""What ASTRA-sim looks for in a node; attributes by other names are for other readers."""

ALIASES = {"comm_group": "pg_name", "process_group": "pg_name"}
"""Names that other tools give to what ASTRA-sim wants under another."""

_INTEGERS = {f"{name}_val" for name in chakra.SCALARS} - {"double_val", "float_val", "string_val", "bytes_val"}
"""What the feeder turns into an integer; it throws at a double or a text."""

_KINDS = {int(kind): kind for kind in Kind}
_TYPES: dict[int, Any] = {number: kind for kind, number in chakra.NODE_TYPES.items()}
_OTHER_TYPES = {0: "INVALID_NODE, which strands what waits for it", 1: "METADATA_NODE, which crashes the statistics"}

_Read: TypeAlias = "tuple[Op, int]"
"""A message that was read: its op, and the communicator group that it names (0: none)."""


class _Refused(Diagnosed):
    """A node that ASTRA-sim does not read as it is written.

    Attributes:
        what: is wrong with it, the same words for all nodes of which the same is wrong.
    """

    def __init__(self, code: str, node: _Node, what: str, hints: tuple[str, ...]) -> None:
        super().__init__(diagnostic(code, f"{node.shown} {what}", hints=hints))
        self.what = what


class Trace(NamedTuple):
    """What a trace says.

    Attributes:
        program: its ops; equal programs are one object. A node that is refused is a compute node that waits for the
            same nodes.
        groups: ids of the communicator groups that it names.
        depends: whether the same bytes say something else on another rank.
    """

    program: Program
    groups: frozenset[int]
    depends: bool


@dataclass
class Decoder:
    """Reads the traces of one machine; what it has read once, message or program, it knows again by its bytes.

    Attributes:
        machine: whose ranks they are.
        groups: of the group file, by id.
        names: axes and groups of our own bundles, None for others'.
        untracked: the first node without `inputs` or `outputs`, and its trace.
    """

    machine: Machine
    groups: Mapping[int, ListedGroup]
    names: Names | None = None
    untracked: tuple[str, Source] | None = None
    _faults: dict[str, list[Diagnostic]] = field(default_factory=dict)
    _overruled: list[Diagnostic] = field(default_factory=list)
    _forms: set[frozenset[str]] = field(default_factory=set)
    _read: dict[bytes, _Read] = field(default_factory=dict)
    _ops: dict[Op, Op] = field(default_factory=dict)
    _programs: dict[tuple[int, ...], Program] = field(default_factory=dict)
    _sets: dict[int, frozenset[int]] = field(default_factory=dict)
    _source: Source = field(default_factory=lambda: Source(""))

    def __post_init__(self) -> None:
        self._ranks = Axis("rank", 1, self.machine.npus)

    def trace(self, data: bytes, rank: int, source: Source) -> Result[Trace]:
        """The trace of a rank, or AS706 for what is no trace; `faults` tells what is wrong with nodes."""
        self._source = source
        try:
            return self._trace(data, rank)
        except Diagnosed as stop:
            return Result(None, (self._placed(stop.diagnostic),))

    def faults(self) -> tuple[Diagnostic, ...]:
        """AS707 and AS714 for nodes of all traces, the first of those of which the same is wrong."""
        return tuple(found for alike in list(self._faults.values())[:MAX_FINDINGS] for found in _first(alike))

    def remarks(self) -> tuple[Diagnostic, ...]:
        """AS865 at the first node whose `involved_dim` is not read, and how many others there are."""
        return _first(self._overruled)

    def _placed(self, found: Diagnostic) -> Diagnostic:
        return diagnostic(found.code, found.message, self._source.whole(), hints=found.hints)

    def check_members(self, trace: Trace, rank: int, source: Source) -> None:
        """AS714 when a rank takes part in a group that it is not in."""
        for number in sorted(trace.groups):
            if number not in self._sets:
                self._sets[number] = frozenset(self.groups[number].members)
            if rank not in self._sets[number]:
                message = f"rank {rank} takes part in group {number}, and is not in it"
                raise Diagnosed(diagnostic("AS714", message, source.whole()))

    def _trace(self, data: bytes, rank: int) -> Result[Trace]:
        first, *rest = chakra.messages(data) or [b""]
        metadata, node = chakra.parse("GlobalMetadata", first), chakra.parse("Node", first)
        # A first message that is a node would be taken for metadata, and be lost.
        if metadata is None or (node is not None and node.type and not metadata.version):
            raise Diagnosed(diagnostic("AS706", "the first message is not GlobalMetadata"))
        if not rest:
            raise Diagnosed(diagnostic("AS706", "the trace has no node: an idle rank needs one"))
        # Most messages have been seen on other ranks; what follows is a few passes at the speed of the interpreter.
        reads: list[Any] = list(map(self._read.get, rest))
        unseen = [at for at, read in enumerate(reads) if read is None]
        for at in unseen:
            reads[at] = self._node(rest[at], at, rank)
        ops: list[Op] = [op for op, _ in reads]
        named = frozenset(group for _, group in reads) - {0}
        key = tuple(map(id, ops))  # the ops live as long as the decoder: `_ops` holds them
        if key not in self._programs:
            _sort(ops)
            self._programs[key] = self._programs.setdefault(tuple(map(id, ops)), Program(tuple(ops)))
        depends = any(isinstance(reads[at][0], Send | Receive) for at in unseen)
        return Result(Trace(self._programs[key], named, depends))

    def _node(self, message: bytes, at: int, rank: int) -> _Read:
        read = self._read.get(message)
        if read is not None:
            return read
        node = chakra.parse("Node", message)
        if node is None:
            raise Diagnosed(diagnostic("AS706", f"message {at + 1} is no node"))
        if len(self._ops) > MAX_NODES:
            raise Diagnosed(diagnostic("AS700", f"the traces have more than {MAX_NODES} different nodes"))
        parts = _Node(node)
        try:
            self._check_attributes(parts)
            op, group = self._op(parts, rank)
        except _Refused as stop:
            self._faults.setdefault(stop.what, []).append(self._placed(stop.diagnostic))
            return Compute(id=node.id, name=node.name, data=tuple(node.data_deps), control=tuple(node.ctrl_deps)), 0
        read = self._ops.setdefault(op, op), group
        if not isinstance(op, Send | Receive):  # those say something else on every rank, and are seldom seen twice
            self._read[message] = read
        return read

    def _check_attributes(self, node: _Node) -> None:
        """Attributes that ASTRA-sim would look for under another name."""
        form = frozenset(node.attributes)
        if form in self._forms:
            return
        for name in sorted(form.difference(ATTRIBUTES)):
            meant = ALIASES.get(name) or nearest(name, ATTRIBUTES, 0.85)
            if meant is not None and meant not in form:
                raise node.refused(f"has an attribute `{name[:60]}`, which ASTRA-sim does not read", f"write `{meant}`")
        self._forms.add(form)
        if self.untracked is None and not form >= {"inputs", "outputs"}:
            self.untracked = node.shown, self._source

    def _op(self, node: _Node, rank: int) -> _Read:
        kind = _TYPES.get(node.message.type)
        if kind is None:
            words = _OTHER_TYPES.get(node.message.type, f"{node.message.type}, which is no type")
            raise node.refused(f"is of type {words}")
        common: dict[str, Any] = {
            "id": node.message.id,
            "name": node.message.name,
            "data": tuple(node.message.data_deps),
            "control": tuple(node.message.ctrl_deps),
            "host": bool(node.integer("is_cpu_op", 0)),
        }
        if common["host"] and kind in {Send, Receive, Collective}:
            raise node.refused("communicates, and has `is_cpu_op` true")
        if kind is Compute:
            # Only the roofline looks at these, and then it must find them.
            if self.machine.roofline and not common["host"] and not self.machine.replay_only:
                node.for_roofline()
            num_ops, tensor_size = node.integer("num_ops", 0), node.integer("tensor_size", 0)
            common |= {"num_ops": num_ops, "tensor_size": tensor_size, "duration": node.message.duration_micros}
            return Compute(flops=node.integer("flops", num_ops), bytes=node.integer("bytes", tensor_size), **common), 0
        if kind is Collective:
            number = node.integer("comm_type")
            if number not in _KINDS:
                raise node.refused(f"has `comm_type` {number}, which is no collective")
            group, identity = self._group(node)
            common |= {"kind": _KINDS[number], "group": group, "duration": node.message.duration_micros}
            return Collective(bytes=node.integer("comm_size"), **common), identity
        if kind in (Send, Receive):
            mine, other = ("comm_src", "comm_dst") if kind is Send else ("comm_dst", "comm_src")
            if node.integer(mine, rank) != rank:
                raise node.refused(f"has `{mine}` {node.integer(mine)} in the trace of rank {rank}")
            peer = node.integer(other)
            if peer >= self._ranks.size:
                raise node.refused(f"has `{other}` {peer}: there are {self._ranks.size} NPUs")
            named = None if self.names is None else self.names.peer(rank, peer)
            axis, offset = named or ("rank", self._ranks.offset(peer - rank))
            size, tag = node.integer("comm_size"), node.integer("comm_tag") % 2**32
            return kind(axis=axis, offset=offset, bytes=size, tag=tag, **common), 0
        return kind(bytes=node.integer("tensor_size"), **common), 0

    def _group(self, node: _Node) -> tuple[Group, int]:
        name = str(node.value("pg_name", ("string_val",), "a text") or "")
        if name in ("", "0"):
            return self._dimensions(node), 0
        if not (name.isascii() and name.isdecimal() and name[0] != "0" and len(name) < 10):
            raise node.refused(f"has `pg_name` `{name[:40]}`: ids are whole numbers", code="AS714")
        listed = self.groups.get(int(name))
        if listed is None:
            raise node.refused(f"names group {name}, which no group file defines", code="AS714")
        if len(listed.members) == 1:
            raise node.refused(f"names group {name} of one NPU: it would never end", code="AS714")
        involved = node.attributes.get("involved_dim")
        if involved is not None and not all(involved.bool_list.values):
            message = f"{node.shown} names group {name}, so its `involved_dim` is not read"
            self._overruled.append(diagnostic("AS865", message, self._source.whole()))
        recovered = None if self.names is None else self.names.communicator(listed)
        return recovered or listed, listed.id

    def _dimensions(self, node: _Node) -> AxisGroup:
        total = len(self.machine.dimensions)
        found = node.attributes.get("involved_dim")
        if found is None:
            involved = (True,) * min(total, 4)  # the feeder assumes four
        elif found.WhichOneof("value") != "bool_list":
            raise node.refused("has an `involved_dim` that is no bool_list")
        else:
            involved = tuple(found.bool_list.values)[:total]
        if len(involved) < total:
            raise node.refused(f"says of {len(involved)} of {total} dimensions whether they are involved")
        recovered = None if self.names is None else self.names.whole(involved)
        return recovered or by_dimensions(involved)


class _Node:
    """A Node message and its attributes by name; of two by one name the feeder takes the first."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.attributes: dict[str, Any] = {attribute.name: attribute for attribute in reversed(message.attr)}

    @property
    def shown(self) -> str:
        """The node as messages name it: its id, and its name where it has one."""
        name = self.message.name
        return f"node {self.message.id}" + (f" `{name[:60]}`" if name else "")

    def refused(self, what: str, *hints: str, code: str = "AS707") -> Diagnosed:
        """A finding that says what is wrong with this node, to be raised."""
        return _Refused(code, self, what, hints)

    def for_roofline(self) -> None:
        """Raises where the roofline does not find what it computes with."""
        lacks = [name for name in ("num_ops", "tensor_size") if name not in self.attributes]
        if lacks:
            names = " and ".join(f"`{name}`" for name in lacks)
            hint = 'give it both, or write `"roofline-enabled": 0`'
            if self.message.duration_micros:
                hint = 'with `"roofline-enabled": 0` nodes take their durations, which they have; or give them both'
            raise self.refused(f"lacks {names}, which `roofline-enabled` 1 in the system file asks for", hint)

    def value(self, name: str, forms: Collection[str], noun: str) -> Any:
        """An attribute that must have one of these forms, None where it is not there."""
        found = self.attributes.get(name)
        if found is None:
            return None
        form = found.WhichOneof("value")
        if form not in forms:
            raise self.refused(f"has `{name}` as `{form}`, not as {noun}")
        return getattr(found, form)

    def integer(self, name: str, missing: int | None = None) -> int:
        """An attribute that must be an integer of any kind; without `missing` it must be there."""
        value = self.value(name, _INTEGERS, "an integer")
        if value is None:
            if missing is None:
                raise self.refused(f"lacks `{name}`")
            return missing
        if value < 0:
            raise self.refused(f"has `{name}` {int(value)}")
        return int(value)


def _first(alike: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The first of some findings, and how many others there are; none of none."""
    if not alike:
        return ()
    more = f", and so {len(alike) - 1} other{'s'[: len(alike) > 2]}" if len(alike) > 1 else ""
    return (replace(alike[0], message=f"{alike[0].message}{more}"),)


def _sort(ops: list[Op]) -> None:
    """Ops by ascending id; the feeder forgets the earlier of two with one id."""
    ids = [op.id for op in ops]
    if not all(map(lt, ids, ids[1:])):
        ops.sort(key=lambda op: op.id)
        for first, second in pairwise(ops):
            if first.id == second.id:
                raise Diagnosed(diagnostic("AS707", f"node {first.id} is there twice: the first would be lost"))
