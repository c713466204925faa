"""What is known of the values of a graph, and how an operator's row looks at it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from astrac.models.graph import Attribute, Constant, Node

Rule: TypeAlias = "Callable[[Site], Sequence[Value]]"
"""How an operator's row finds shapes and types of its outputs."""

Shape: TypeAlias = tuple[int | None, ...] | None
"""Extents, None for one that is unknown; None altogether where not even the rank is known."""


Runs: TypeAlias = tuple[tuple[int | None, Shape], ...]
"""A sequence's elements: how many of one shape follow each other; None where nobody knows how many."""


class Value(NamedTuple):
    """Shape and type of a value; of a sequence what its elements have in common, and the `runs` that it consists of."""

    shape: Shape
    dtype: str | None
    runs: Runs | None = None


UNKNOWN = Value(None, None)


class Inconsistent(Exception):  # noqa: N818 - what a graph is, not an error of ours
    """A node whose operands do not fit each other; the message says how, whoever catches it says where."""


def elements(shape: Shape) -> int | None:
    """The product of the extents, None when one is unknown."""
    return None if shape is None or None in shape else prod(shape)  # type: ignore[arg-type]


def common(first: Shape, second: Shape) -> Shape:
    """What two shapes of which either may be there have in common."""
    if first is None or second is None or len(first) != len(second):
        return None
    return tuple([one if one == other else None for one, other in zip(first, second, strict=True)])


@dataclass(slots=True)
class Facts:
    """What inference has found so far.

    Attributes:
        constants: stored tensors by name.
        values: shape and type of every value that has been met.
        sizes: elements of each, None while an extent is unknown.
        dead: regions that never run: branches whose condition follows from shapes, and is not met.
        data: the numbers of small values that follow from shapes and small constants alone.
        trips: how often each loop runs, None where only the run will tell.
        counters: carried values of loops that depend on no data.
        offsets: numbers of a loop's body that are another, unknown number and so many more.
    """

    constants: Mapping[str, Constant]
    values: dict[str, Value] = field(default_factory=dict)
    sizes: dict[str, int | None] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    data: dict[str, np.ndarray | None] = field(default_factory=dict)
    trips: dict[int, int | None] = field(default_factory=dict)
    counters: set[str] = field(default_factory=set)
    offsets: dict[str, tuple[str, int]] = field(default_factory=dict)

    def note(self, name: str, value: Value) -> None:
        """Shape and type of one more value."""
        self.values[name] = value
        shape, _, runs = value
        if runs is None:
            self.sizes[name] = None if shape is None or None in shape else prod(shape)  # type: ignore[arg-type]
        else:
            sizes = [None if count is None else elements((count, *(shape or (None,)))) for count, shape in runs]
            self.sizes[name] = None if None in sizes else sum(sizes)  # type: ignore[arg-type]

    def array(self, name: str) -> np.ndarray | None:
        """The numbers of a small value, None when they are unknown or too many."""
        if name not in self.data:
            constant = self.constants.get(name)
            self.data[name] = None if constant is None else constant.array()
        return self.data[name]


class Site:
    """A node among the facts: everything that a row of `OPERATORS` may ask."""

    __slots__ = ("facts", "node")

    def __init__(self, node: Node, facts: Facts) -> None:
        self.node = node
        self.facts = facts

    def name(self, index: int) -> str:
        """The name of an input, empty when it is left out."""
        inputs = self.node.inputs
        return inputs[index] if index < len(inputs) else ""

    def has(self, index: int) -> bool:
        """Whether an input is given, not left out."""
        return self.name(index) != ""

    def value(self, index: int = 0) -> Value:
        """Shape and type of an input."""
        return self.facts.values.get(self.name(index), UNKNOWN)

    def shape(self, index: int = 0) -> Shape:
        """The shape of an input, None while not even its rank is known."""
        return self.value(index).shape

    def dtype(self, index: int = 0) -> str | None:
        """The type of the numbers of an input, None while it is unknown."""
        return self.value(index).dtype

    def output(self, index: int = 0) -> Shape:
        """The shape of an output, once it is inferred."""
        outputs = self.node.outputs
        return self.facts.values.get(outputs[index], UNKNOWN).shape if index < len(outputs) else None

    def array(self, index: int) -> np.ndarray | None:
        """The numbers of a small input."""
        name = self.name(index)
        return self.facts.array(name) if name else None

    def data(self, index: int) -> tuple[int, ...] | None:
        """The numbers of a small input, flat."""
        found = self.array(index)
        return None if found is None else tuple(int(number) for number in found.ravel().tolist())

    def attribute(self, name: str) -> Attribute:
        """As the file has it, None when absent."""
        return self.node.attributes.get(name)

    def number(self, name: str, default: int = 0) -> int:
        """An integer attribute, or the default where it is absent."""
        found = self.node.attributes.get(name)
        if found is None:
            return default
        if not isinstance(found, int):
            raise Inconsistent(f"attribute `{name}` is not an integer")
        return found

    def numbers(self, name: str) -> tuple[int, ...] | None:
        """A list of integers; None when absent."""
        found = self.node.attributes.get(name)
        if found is None:
            return None
        integers = tuple([item for item in found if isinstance(item, int)]) if isinstance(found, tuple) else ()
        if integers != found:
            raise Inconsistent(f"attribute `{name}` is not a list of integers")
        return integers

    def names(self, name: str) -> tuple[str, ...]:
        """A list of names, empty when absent."""
        found = self.node.attributes.get(name)
        return tuple([item for item in found if isinstance(item, str)]) if isinstance(found, tuple) else ()

    def end(self, name: str) -> int | None:
        """An integer attribute that bounds a range, None where it is left out."""
        return self.number(name) if name in self.node.attributes else None

    def text(self, name: str, default: str = "") -> str:
        """A string attribute, or the default where it is absent."""
        found = self.node.attributes.get(name)
        return found if isinstance(found, str) else default

    def either(self, name: str, index: int) -> tuple[int, ...] | None:
        """Integers that older versions of an operator take as an attribute and newer ones as an input."""
        found = self.numbers(name)
        return self.data(index) if found is None else found
