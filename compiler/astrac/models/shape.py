"""A transformer's shape with every default filled in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from astrac.spec import Transformer


@dataclass(frozen=True)
class Experts:
    """A mixture: how many experts, how many of them see a token, their width, slots kept, every how many blocks."""

    count: int
    active: int
    hidden: int
    capacity_factor: Fraction
    every: int


@dataclass(frozen=True)
class Shape:
    """A transformer with every default filled in; see `schemas/transformer.schema.json` for the fields."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    ffn: int
    activation: str
    norm: str
    norm_position: str
    bias: bool
    dropout: bool
    positions: str
    max_positions: int
    segments: int
    pooler: bool
    causal: bool
    sequence: int
    vocabulary: int
    tied: bool
    experts: Experts | None

    @property
    def query(self) -> int:
        """Features of all query heads together."""
        return self.heads * self.head_size

    @property
    def key(self) -> int:
        """Features of all key heads together, and of all value heads."""
        return self.kv_heads * self.head_size


class Contradiction(NamedTuple):
    """Keys that do not fit together: a code, the key at fault, what is wrong, and a cure."""

    code: str
    key: str
    message: str
    hint: str


def resolve(transformer: Transformer) -> Shape:
    """Fills in the defaults that depend on other keys: the only place that knows them."""
    given = transformer
    classic = given.norm == "layer_norm"
    ffn = given.ffn or 4 * given.hidden
    learned = "learned" if classic else "rotary"
    return Shape(
        layers=given.layers,
        hidden=given.hidden,
        heads=given.heads,
        kv_heads=given.kv_heads,
        head_size=given.head_size or given.hidden // given.heads,
        ffn=ffn,
        activation=given.activation,
        norm=given.norm,
        norm_position=given.norm_position,
        bias=classic if given.bias is None else given.bias,
        dropout=classic if given.dropout is None else given.dropout,
        positions=given.positions or learned,
        max_positions=given.max_positions,
        segments=given.segments,
        pooler=given.pooler,
        causal=given.causal,
        sequence=given.sequence,
        vocabulary=given.vocabulary,
        tied=classic if given.tied is None else given.tied,
        experts=None
        if given.experts is None
        else Experts(
            count=given.experts.count,
            active=given.experts.active,
            hidden=given.experts.hidden or ffn,
            capacity_factor=given.experts.capacity_factor,
            every=given.experts.every,
        ),
    )


def contradictions(transformer: Transformer) -> Iterator[Contradiction]:
    """What is wrong with a shape although each key is right; `read_transformer` takes only shapes without any."""
    given = transformer
    if given.head_size is None and given.hidden % given.heads:
        yield Contradiction(
            "AS660",
            "heads",
            f"{given.heads} heads do not divide a hidden size of {given.hidden}",
            "change one of them, or say `head_size`",
        )
    if given.heads % given.kv_heads:
        yield Contradiction(
            "AS661",
            "kv_heads",
            f"{given.heads} query heads cannot be spread evenly over {given.kv_heads} key and value heads",
            "`kv_heads` divides `heads`",
        )
    shape = resolve(transformer)
    if shape.positions == "learned" and shape.max_positions < shape.sequence:
        yield Contradiction(
            "AS662",
            "max_positions",
            f"a table of {shape.max_positions} positions is too short for a sequence of {shape.sequence}",
            "`max_positions` is at least `sequence`",
        )
    if shape.experts is not None and shape.experts.active > shape.experts.count:
        yield Contradiction(
            "AS663",
            "experts/active",
            f"a token cannot go to {shape.experts.active} of {shape.experts.count} experts",
            "`active` is at most `count`",
        )
