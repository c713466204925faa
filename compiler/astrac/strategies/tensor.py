"""Tensor parallelism: Megatron's column and row pairs (Shoeybi et al. 2019).

Forward, a pair ends in an all-reduce of the activations; backward, it begins with one of their gradients. With
sequence parallelism (Korthikanti et al. 2022) each all-reduce becomes a reduce-scatter, the activations between pairs
are cut along tokens, and an all-gather opens the pair; its inputs are kept cut, and gathered again for the weight
gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.model import Role
from astrac.strategies.part import Exchange, Part, Point, Setting

if TYPE_CHECKING:
    from astrac.model import Matmul
    from astrac.spec import Tensor

KIND = "tensor"


@dataclass(frozen=True)
class Cut:
    """What a role divides by the degree.

    `opens` and `closes` say that it begins, ends a pair; `sequence` that sequence parallelism cuts it along tokens.
    """

    weights: bool = False
    bias: bool = False
    work: bool = False
    inputs: bool = False
    outputs: bool = False
    opens: bool = False
    closes: bool = False
    sequence: bool = False


CUTS: dict[Role, Cut] = {
    Role.COLUMN: Cut(weights=True, bias=True, work=True, outputs=True, opens=True),
    Role.ROW: Cut(weights=True, work=True, inputs=True, closes=True),
    Role.ATTENTION: Cut(work=True, inputs=True, outputs=True),
    Role.EMBEDDING: Cut(weights=True, closes=True),
    Role.HEAD: Cut(weights=True, bias=True, work=True, outputs=True, opens=True),
    Role.EXPERT_COLUMN: Cut(weights=True, bias=True, work=True, outputs=True, opens=True),
    Role.EXPERT_ROW: Cut(weights=True, work=True, inputs=True, closes=True),
    Role.SEQUENCE: Cut(sequence=True),
    Role.ROUTER: Cut(sequence=True),
    Role.OTHER: Cut(),
}


def cut(part: Part, setting: Setting) -> Part:
    """The part of a layer on one rank of the tensor axis, with the collectives that its role needs."""
    options: Tensor | None = setting.options(KIND)  # type: ignore[assignment]
    if options is None:
        return part
    degree = setting.degrees[KIND]
    row = CUTS[part.layer.role]
    along_tokens = options.sequence_parallel and (row.sequence or row.closes)

    def share(elements: int, divide: bool) -> int:
        return -(-elements // degree) if divide else elements

    cut_part = replace(
        part,
        weights=share(part.weights, row.weights),
        bias=share(part.bias, row.bias),
        weight_reads=share(part.weight_reads, row.weights and part.layer.weight_reads is None),
        macs=share(part.macs, row.work or (row.sequence and options.sequence_parallel)),
        vector_flops=share(part.vector_flops, row.work or along_tokens),
        inputs=share(part.inputs, row.inputs or (row.sequence and options.sequence_parallel)),
        outputs=share(part.outputs, row.outputs or (row.sequence and options.sequence_parallel)),
        kept=_kept(part, degree, sequence_parallel=options.sequence_parallel),
        leaves=share(part.leaves, row.outputs or along_tokens),
        matmuls=tuple(_product(matmul, part.layer.role, degree) for matmul in part.matmuls),
        replicated=(KIND,) if options.sequence_parallel and (row.sequence or (row.closes and part.bias > 0)) else (),
    )
    return cut_part.inside(*_exchanges(part, row, setting, options.sequence_parallel))


def _kept(part: Part, degree: int, *, sequence_parallel: bool) -> int:
    """What a rank keeps: its share, and without sequence parallelism the whole of what lies on the residual stream."""
    whole = 0 if sequence_parallel else part.layer.kept_replicated
    return whole - (whole - part.kept) // degree


def _product(matmul: Matmul, role: Role, degree: int) -> Matmul:
    """A product cut by its role: output features, input features or heads."""
    batch, rows, columns, inner = matmul
    if role in {Role.COLUMN, Role.HEAD, Role.EXPERT_COLUMN}:
        return (batch, rows, -(-columns // degree), inner)
    if role in {Role.ROW, Role.EXPERT_ROW}:
        return (batch, rows, columns, -(-inner // degree))
    if role is Role.ATTENTION:
        return (-(-batch // degree), rows, columns, inner)
    return matmul


def _exchanges(part: Part, row: Cut, setting: Setting, sequence_parallel: bool) -> list[Exchange]:
    """The collectives of a role; bytes are of the uncut activations, all-gathers take the shard."""
    width, degree = setting.widths.activations, setting.degrees[KIND]
    read, written = part.inputs * width, part.outputs * width
    found: list[Exchange] = []
    if row.opens and sequence_parallel:
        found += [
            Exchange(Point.BEFORE_FORWARD, Kind.ALL_GATHER, -(-read // degree), KIND),
            Exchange(Point.BEFORE_WEIGHT_GRADIENT, Kind.ALL_GATHER, -(-read // degree), KIND),
            Exchange(Point.AFTER_INPUT_GRADIENT, Kind.REDUCE_SCATTER, read, KIND),
        ]
    elif row.opens:
        found.append(Exchange(Point.AFTER_INPUT_GRADIENT, Kind.ALL_REDUCE, read, KIND))
    if row.closes and sequence_parallel:
        found += [
            Exchange(Point.AFTER_FORWARD, Kind.REDUCE_SCATTER, written, KIND),
            Exchange(Point.BEFORE_BACKWARD, Kind.ALL_GATHER, -(-written // degree), KIND),
        ]
    elif row.closes:
        found.append(Exchange(Point.AFTER_FORWARD, Kind.ALL_REDUCE, written, KIND))
    transformer = setting.spec.model.transformer
    if part.layer.role is Role.HEAD and transformer is not None:
        # The loss over a vocabulary that is cut: maximum, target logit and sum of exponentials, fp32 a token.
        tokens = part.outputs // transformer.vocabulary
        found += [Exchange(Point.AFTER_FORWARD, Kind.ALL_REDUCE, 4 * tokens, KIND)] * 3
    return found
