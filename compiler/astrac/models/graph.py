"""A model's graph without its weights: what ONNX files and the zoo are read into, before any shape is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

Dim: TypeAlias = int | str | None
"""An extent, the name of a symbolic one, or None where the file says nothing."""

LIMIT, FLOAT_LIMIT = 4096, 16
"""Elements that shape arithmetic follows at most; of floating-point numbers only what may be the scales of a resize."""

_READABLE = {**dict.fromkeys(("int64", "int32", "bool"), LIMIT), "float32": FLOAT_LIMIT, "float64": FLOAT_LIMIT}


@dataclass(frozen=True, slots=True)
class Constant:
    """A stored tensor: its type and extents, never its numbers.

    Attributes:
        name: as the file has it.
        shape: extents.
        dtype: a key of `model.BITS`.
        stored: bytes in the file where they are not elements x type (sparse tensors), else None.
        payload: what `array` reads small shape vectors from; opaque, and absent for everything large.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    stored: int | None = None
    payload: Any = field(default=None, repr=False, compare=False)

    def array(self) -> np.ndarray | None:
        """Its numbers; None when the file does not hold them or they are more than shapes ever need."""
        payload = self.payload
        if payload is None or prod(self.shape) > _READABLE.get(self.dtype, -1):
            return None
        import numpy as np  # noqa: PLC0415 - onnx brings it; the zoo's models need neither

        if isinstance(payload, (tuple, int, float)):
            found = np.asarray(payload, self.dtype)
        else:
            from onnx import numpy_helper  # noqa: PLC0415

            try:
                found = numpy_helper.to_array(payload)
            except (ValueError, TypeError):
                return None
        return found if found.shape == self.shape else None


@dataclass(frozen=True, slots=True)
class Signature:
    """A graph input, a graph output or an annotated value; `shape` None when not even the rank is given."""

    name: str
    dtype: str | None
    shape: tuple[Dim, ...] | None


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute of a node in a function that takes the value of the call's attribute `name`."""

    name: str


Attribute: TypeAlias = Union[int, float, str, tuple["Attribute", ...], Constant, "Graph", Reference, None]


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of a graph or of a function.

    Attributes:
        op: the operator.
        inputs, outputs: names of values; an empty name is an input that is left out.
        attributes: by name.
        name: as the file has it, often empty.
        domain: of the operator; empty for ONNX's own.
        scope: the module path that the dynamo exporter notes, else empty.
        region: index of the `Region` it lies in, once the graph is flat.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""
    domain: str = ""
    scope: str = ""
    region: int = 0


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes with what they read that no node makes.

    Attributes:
        inputs, outputs: of the whole; inputs may repeat constants (IR version 3).
        constants: initializers.
        nodes: in the order of the file.
        hints: the file's own claims about values inside; used only for operators that nobody knows.
    """

    inputs: tuple[Signature, ...]
    outputs: tuple[Signature, ...]
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    hints: tuple[Signature, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    """A model-local function; `defaults` holds attributes that a call may leave out."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    defaults: Mapping[str, Attribute] = field(default_factory=dict)
    hints: tuple[Signature, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A whole model as its file has it.

    Attributes:
        graph: the main graph.
        functions: by domain and name.
        versions: opset version by domain.
        external: files that hold weights, as the model names them; they are never opened.
    """

    graph: Graph
    functions: Mapping[tuple[str, str], Function] = field(default_factory=dict)
    versions: Mapping[str, int] = field(default_factory=dict)
    external: tuple[str, ...] = ()
