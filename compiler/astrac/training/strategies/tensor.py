"""Tensor parallelism: Megatron's column and row pairs (Shoeybi et al. 2019).

Forward, a pair ends in an all-reduce of the activations; backward, it begins with one of their gradients. With
sequence parallelism (Korthikanti et al. 2022) each all-reduce becomes a reduce-scatter, the activations between pairs
are cut along tokens, and an all-gather opens the pair; its inputs are kept cut, and gathered again for the weight
gradient.

The embedding ends in a reduce-scatter too: each rank adds positions for its own tokens only, and backward gathers the
gradient of the sum once, for all tables together, so that the gradients of replicated tables are whole. A pooler
reads the first tokens, which one rank holds: an all-gather of one token a sample brings them to all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from astrac.job import Kind
from astrac.models.model import Role
from astrac.training.strategies.part import Exchange, ExchangePoint, Part, Setting, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.models.model import Matmul
    from astrac.spec import Tensor

KIND = "tensor"


@dataclass(frozen=True)
class TensorCut:
    """What a role divides by the degree.

    Attributes:
        weights, bias, work, inputs, outputs: divided. What lies along the residual stream is not among the inputs.
        opens: begins a pair: reads what every rank has, and owes the others their part of its gradient.
        closes: ends a pair: each rank has a term of the output.
        tokens: sequence parallelism cuts it along tokens.
        gathers: makes its output whole again.
        splits: takes its part of an input that is whole.
        copies: under sequence parallelism its weights are copies that see different tokens.
        product: what of (batch, rows, columns, inner) is divided.
    """

    weights: bool = False
    bias: bool = False
    work: bool = False
    inputs: bool = False
    outputs: bool = False
    opens: bool = False
    closes: bool = False
    tokens: bool = False
    gathers: bool = False
    splits: bool = False
    copies: bool = False
    product: int | None = None


_BATCH, _ROWS, _COLUMNS, _INNER = range(4)

CUTS: dict[Role, TensorCut] = {
    Role.COLUMN: TensorCut(weights=True, bias=True, work=True, outputs=True, opens=True, product=_COLUMNS),
    Role.ROW: TensorCut(weights=True, work=True, inputs=True, closes=True, product=_INNER),
    Role.ATTENTION: TensorCut(work=True, inputs=True, outputs=True, product=_BATCH),
    Role.EMBEDDING: TensorCut(weights=True, closes=True),
    Role.TABLE: TensorCut(tokens=True),
    Role.HEAD: TensorCut(weights=True, bias=True, work=True, outputs=True, opens=True, product=_COLUMNS),
    Role.POOLER: TensorCut(),
    Role.EXPERT_COLUMN: TensorCut(weights=True, bias=True, work=True, outputs=True, opens=True, product=_COLUMNS),
    Role.EXPERT_ROW: TensorCut(weights=True, work=True, inputs=True, closes=True, product=_INNER),
    Role.SEQUENCE: TensorCut(tokens=True, copies=True, product=_ROWS),
    Role.ROUTER: TensorCut(tokens=True, copies=True, product=_ROWS),
    Role.BETWEEN: TensorCut(weights=True, bias=True, work=True, inputs=True, outputs=True, product=_BATCH),
    Role.GATHERED_COLUMN: TensorCut(
        weights=True, bias=True, work=True, outputs=True, opens=True, gathers=True, product=_COLUMNS
    ),
    Role.SPLIT_ROW: TensorCut(weights=True, work=True, inputs=True, closes=True, splits=True, product=_INNER),
    Role.OTHER: TensorCut(),
}


def cut(part: Part, setting: Setting) -> Part:
    """The part of a layer on one rank of the tensor axis, with the collectives that its role needs."""
    options: Tensor | None = setting.options(KIND)  # type: ignore[assignment]
    if options is None:
        return part
    degree, layer, row = setting.degrees[KIND], part.layer, CUTS[part.layer.role]
    tokens = options.sequence_parallel and row.tokens
    along_stream = degree if options.sequence_parallel else 1

    def cut_where(divided: bool, elements: int) -> int:
        return share(elements, degree) if divided else elements

    stream = part.inputs if row.tokens else layer.input_replicated
    inputs = cut_where(row.inputs, part.inputs - stream) + share(stream, along_stream)
    outputs = cut_where(row.outputs or tokens, part.outputs)
    leaves = cut_where((row.outputs and not row.gathers) or tokens or (row.closes and along_stream > 1), part.leaves)
    terms = part.weights + part.bias if tokens and row.copies else 0
    cut_part = replace(
        part,
        weights=cut_where(row.weights, part.weights),
        bias=cut_where(row.bias, part.bias),
        weight_reads=cut_where(row.weights or (tokens and layer.weight_reads is not None), part.weight_reads),
        macs=cut_where(row.work or tokens, part.macs),
        vector_flops=share(part.vector_flops, along_stream)
        if row.closes  # the residual sum
        else cut_where(row.work or tokens, part.vector_flops),
        inputs=inputs,
        outputs=outputs,
        kept=_kept(part, row, degree, along_stream),
        leaves=leaves,
        matmuls=_products(part, row, degree, tokens=tokens),
        output_gradients=part.outputs if layer.gathers else cut_where(row.outputs or tokens, part.output_gradients),
        terms=part.bias if row.closes and along_stream > 1 else terms,
    )
    found = _exchanges(part, row, setting, sequence_parallel=options.sequence_parallel)
    return cut_part.inside(*found)


def _kept(part: Part, row: TensorCut, degree: int, along_stream: int) -> int:
    """What a rank keeps: its share, and of what lies along the stream all that sequence parallelism does not cut."""
    if row == TensorCut():
        return part.kept
    whole = part.layer.kept_replicated
    return share(part.kept - whole, degree) + share(whole, along_stream)


def _products(part: Part, row: TensorCut, degree: int, *, tokens: bool) -> tuple[Matmul, ...]:
    """The products of a rank: fewer heads, tokens, output or input features."""
    at = row.product
    if at is None or not (row.work or tokens):
        return part.matmuls
    return tuple((*sizes[:at], share(sizes[at], degree), *sizes[at + 1 :]) for sizes in part.matmuls)  # type: ignore[misc]


def _exchanges(part: Part, row: TensorCut, setting: Setting, *, sequence_parallel: bool) -> Iterator[Exchange]:
    """The collectives of a role; bytes are of the uncut activations, all-gathers take the shard."""
    width, degree, layer = setting.widths.activations, setting.degrees[KIND], part.layer
    read, written = (part.inputs - layer.input_replicated) * width, part.outputs * width
    gathered, leaving = share(read, degree), share(written, degree)
    if row.opens and sequence_parallel:
        yield Exchange(ExchangePoint.BEFORE_FORWARD, Kind.ALL_GATHER, gathered, KIND)
        yield Exchange(ExchangePoint.BEFORE_WEIGHT_GRADIENT, Kind.ALL_GATHER, gathered, KIND)
        yield Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.REDUCE_SCATTER, read, KIND)
    elif row.opens:
        yield Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.ALL_REDUCE, read, KIND)
    if row.closes and sequence_parallel:
        yield Exchange(ExchangePoint.AFTER_FORWARD, Kind.REDUCE_SCATTER, written, KIND)
    elif row.closes:
        yield Exchange(ExchangePoint.AFTER_FORWARD, Kind.ALL_REDUCE, written, KIND)
    if sequence_parallel and (layer.gathers or (row.closes and layer.role is not Role.EMBEDDING)):
        yield Exchange(ExchangePoint.BEFORE_BACKWARD, Kind.ALL_GATHER, leaving, KIND)
    if row.gathers:
        yield Exchange(ExchangePoint.AFTER_FORWARD, Kind.ALL_GATHER, leaving, KIND)
    if row.splits:
        yield Exchange(ExchangePoint.AFTER_INPUT_GRADIENT, Kind.ALL_GATHER, gathered, KIND)
    if layer.role is Role.POOLER and sequence_parallel:
        yield Exchange(ExchangePoint.BEFORE_FORWARD, Kind.ALL_GATHER, read, KIND)
    # The loss over a vocabulary that is cut: maximum, target logit and sum of exponentials, fp32 a token.
    if layer.loss_rows and row.outputs:
        yield from [Exchange(ExchangePoint.AFTER_FORWARD, Kind.ALL_REDUCE, 4 * layer.loss_rows, KIND)] * 3
