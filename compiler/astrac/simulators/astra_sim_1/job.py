"""A job of ASTRA-sim 1.0: network.json, system.txt, workload.txt and the command line, as the simulator reads them.

Times are cycles, which are ns (1.0's clock is fixed at 1 GHz). Whoever wrote the files - we, or a person - the data are
the same; a job that was read from files also knows where each value stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import prod
from struct import pack, unpack
from typing import TYPE_CHECKING

from astrac.job import Kind, bytes_per_ns
from astrac.simulators.blocks import by_name_1

if TYPE_CHECKING:
    from collections.abc import Mapping

    from astrac.source import Span

WORDS: dict[Kind, str] = {
    Kind.ALL_REDUCE: "ALLREDUCE",
    Kind.ALL_GATHER: "ALLGATHER",
    Kind.REDUCE_SCATTER: "REDUCESCATTER",
    Kind.ALL_TO_ALL: "ALLTOALL",
}
"""The words for communication in the columns of a text workload; `NONE` stands for none."""

MAX_DIMENSIONS = 7
"""With 8 or more the simulator's report writes past its table (exit 1); with 11 it loses communication."""


class Policy(Enum):
    """The first word of a text workload: which columns communicate over which dimensions, and in which order."""

    DATA = "DATA"
    MODEL = "MODEL"
    HYBRID_DATA_MODEL = "HYBRID_DATA_MODEL"
    HYBRID_MODEL_DATA = "HYBRID_MODEL_DATA"
    HYBRID_TRANSFORMER = "HYBRID_TRANSFORMER"
    HYBRID_TRANSFORMER_FWD_IN_BCKWD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"
    HYBRID_CUSTOMIZED = "HYBRID_CUSTOMIZED"
    HYBRID_DLRM = "HYBRID_DLRM"
    HYBRID_DLRM_ENHANCED = "HYBRID_DLRM_ENHANCED"
    MICRO = "MICRO"
    DISTRIBUTED_INFERENCE = "DISTRIBUTED_INFERENCE"


TRANSFORMERS = (Policy.HYBRID_TRANSFORMER, Policy.HYBRID_TRANSFORMER_FWD_IN_BCKWD)
"""Policies that name a model-parallel group and may split a dimension."""

DLRMS = (Policy.HYBRID_DLRM, Policy.HYBRID_DLRM_ENHANCED)
"""Policies that name the last layer of the bottom network."""

LAYER_POLICIES = (Policy.DATA, Policy.MODEL, Policy.HYBRID_DATA_MODEL, Policy.HYBRID_MODEL_DATA)
"""What a layer of `HYBRID_CUSTOMIZED` may choose."""


class Stage(Enum):
    """The three thirds of a layer's row, by the name that the columns have in ASTRA-sim."""

    FORWARD = "fwd"
    INPUT_GRADIENT = "ig"
    WEIGHT_GRADIENT = "wg"


@dataclass(frozen=True, slots=True)
class Work:
    """A third of a row: compute, then communication.

    Attributes:
        time: cycles of compute.
        kind: of the collective, one of `WORDS`; None is `NONE`.
        bytes: the whole buffer of one NPU; for ALL_GATHER the shard that it contributes.
    """

    time: int = 0
    kind: Kind | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer of a text workload, in the order of its columns.

    Attributes:
        name: no white space.
        forward, input_gradient, weight_gradient: the three stages.
        update: cycles added after each collective of the layer before it counts as finished; at least 1.
        policy: of this layer, under `HYBRID_CUSTOMIZED` only.
        reserved: the column after the name; nothing reads it.
    """

    name: str
    forward: Work = Work()
    input_gradient: Work = Work()
    weight_gradient: Work = Work()
    update: int = 1
    policy: Policy | None = None
    reserved: int = -1

    def work(self, stage: Stage) -> Work:
        """The third of the row that is of a stage."""
        return {
            Stage.FORWARD: self.forward,
            Stage.INPUT_GRADIENT: self.input_gradient,
            Stage.WEIGHT_GRADIENT: self.weight_gradient,
        }[stage]


@dataclass(frozen=True, slots=True)
class Extras:
    """What some policies say between their word and the count of layers.

    Attributes:
        group: NPUs of a model-parallel group (`TRANSFORMERS`).
        checkpoints: layers whose input is kept, from 0 (`HYBRID_TRANSFORMER_FWD_IN_BCKWD`).
        initiates: layers whose backward first repeats the forward from the nearest checkpoint before them.
        last_bottom: the last layer of the bottom network, from 0 (`DLRMS`).
    """

    group: int = 1
    checkpoints: tuple[int, ...] = ()
    initiates: tuple[int, ...] = ()
    last_bottom: int = 0


@dataclass(frozen=True)
class TextWorkload:
    """What workload.txt says.

    Attributes:
        policy: the first word.
        rows: the layers, in forward order.
        extras: see there.
        origins: JSON pointer -> where the value stands (`/rows/3/forward/bytes`); empty unless it was read.
    """

    policy: Policy
    rows: tuple[LayerRow, ...]
    extras: Extras = Extras()
    origins: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SharedBus:
    """LogGP parameters of the memory bus inside an NPU: cycles, and cycles a byte (`gap_per_byte`, `G:`)."""

    latency: int
    overhead: int
    gap: int
    gap_per_byte: float


@dataclass(frozen=True)
class TextSystem:
    """What system.txt says.

    Attributes:
        scheduling: `LIFO` or `FIFO`: which collective goes first where the policy does not say it.
        algorithms: for each kind its words, one a dimension.
        optimization: `localBWAware` (all-reduce as reduce-scatter, all-reduce, all-gather) or `baseline`.
        splits: chunks a collective.
        endpoint_delay: cycles a message step.
        active_chunks: chunks that run at once in a dimension.
        boost: simulate only the NPUs that differ; no effect on totals of symmetric runs.
        intra: `intra-dimension-scheduling`, `FIFO`, `RG`, `SCF` or `lessRemainingPhaseFirst`.
        inter: `inter-dimension-scheduling`, `ascending`, `roundRobin`, `themis` or `themisFlex`.
        shared_bus: in place of `endpoint_delay`, when modelled.
        local_reduction_delay: cycles, used with the shared bus only.
        separate_log: write the CSV reports.
        origins: JSON pointer -> where the value stands (`/splits`); empty unless it was read.
    """

    scheduling: str
    algorithms: Mapping[Kind, tuple[str, ...]]
    optimization: str
    splits: int
    endpoint_delay: int = 10
    active_chunks: int = 1
    boost: bool = False
    intra: str = "FIFO"
    inter: str = "ascending"
    shared_bus: SharedBus | None = None
    local_reduction_delay: int = 1
    separate_log: bool = True
    origins: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    def words(self, kind: Kind) -> tuple[str, ...]:
        """Of a kind of `IMPLEMENTED`, one a dimension."""
        return self.algorithms[kind]


@dataclass(frozen=True, slots=True)
class TextDimension:
    """One entry of each list of network.json.

    Attributes:
        block: the word of `topologies-per-dim`, a row of `blocks.BLOCKS`.
        size: NPUs (`units-count`).
        links: of one NPU, all directions (`links-count`).
        bandwidth: of one link as the file says it, in 2^30 bytes per second (`link-bandwidth`).
        latency: ns a hop.
        nic_latency: ns, twice a message.
        router_latency: ns, once a message, Switch only.
        memory_latency, memory_bandwidth, memory_scale: `hbm-*`: ns, bytes a ns, factor (0 switches memory off).
        type: `T`, `N`, `P` or `PP`; prices the machine, changes no time.
    """

    block: str
    size: int
    links: int
    bandwidth: float
    latency: float
    nic_latency: float = 0
    router_latency: float = 0
    memory_latency: float = 0
    memory_bandwidth: float = 1
    memory_scale: float = 0
    type: str = "N"

    @property
    def links_used(self) -> int:
        """Links that one message gets: `k` in `bandwidth * k`. 0 when the simulator refuses the count."""
        return by_name_1(self.block).links_used(self.size, self.links)

    @property
    def bytes_per_ns(self) -> float:
        """What one message gets, computed in the simulator's order."""
        return bytes_per_ns(self.bandwidth) * self.links_used


@dataclass(frozen=True)
class TextNetwork:
    """network.json: the dimensions, innermost first; `origins` as in `TextSystem` (`/link-bandwidth/0`)."""

    dimensions: tuple[TextDimension, ...]
    origins: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    @property
    def npus(self) -> int:
        """How many NPUs there are: the product of the sizes."""
        return prod(dimension.size for dimension in self.dimensions)


@dataclass(frozen=True)
class TextJob:
    """The three files and the command line.

    Attributes:
        network, system, workload: the files.
        passes: `--num-passes`, training steps.
        compute_scale, comm_scale, injection_scale: `--compute-scale`, ...; the simulator keeps them as float32.
        queues: `--num-queues-per-dim`.
        rendezvous: `--rendezvous-protocol`.
    """

    network: TextNetwork
    system: TextSystem
    workload: TextWorkload
    passes: int = 1
    compute_scale: float = 1.0
    comm_scale: float = 1.0
    injection_scale: float = 1.0
    queues: int = 1
    rendezvous: bool = False

    def cycles(self, row: int, stage: Stage) -> int:
        """The compute of a column, scaled."""
        return _scaled(self.workload.rows[row].work(stage).time, self.compute_scale)

    def bytes(self, row: int, stage: Stage) -> int:
        """The bytes of a column's collective, scaled."""
        return _scaled(self.workload.rows[row].work(stage).bytes, self.comm_scale)

    @property
    def delay(self) -> int:
        """Cycles of a message step, scaled."""
        return int(self.system.endpoint_delay * _float32(self.injection_scale))


FLOAT32_LIMIT = 3.4028235e38


def _float32(value: float) -> float:
    """A scale as the command line keeps it."""
    return float(unpack("f", pack("f", value))[0])


def _scaled(value: int, scale: float) -> int:
    """A column times a scale of the command line: through a double, and truncated."""
    return int(float(value) * _float32(scale))
