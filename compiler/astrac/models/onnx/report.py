"""What there is to say about a model: why it cannot be counted, and what only the user can know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, diagnostic
from astrac.models.onnx.drafts import UNKNOWN_OPERATOR
from astrac.models.onnx.facts import elements
from astrac.models.onnx.infer import BadNode
from astrac.models.onnx.names import is_anonymous, shown
from astrac.models.onnx.operators import operator
from astrac.models.onnx.schema import least_inputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.models.graph import ModelFile, Node
    from astrac.models.onnx.bind import Bound, Open
    from astrac.models.onnx.drafts import Drafts
    from astrac.models.onnx.facts import Facts
    from astrac.models.onnx.flatten import Flat
    from astrac.models.onnx.rows import Rows
    from astrac.source import Span

_SHOWN = 5


def unknown_work(
    name: str, bound: Bound, flat: Flat, drafts: Drafts, table: Rows, span: Span | None
) -> Iterator[Diagnostic]:
    """The error of a product whose extents the graph does not tell: no work is none.

    Raises `Diagnosed` where the user can tell them, `BadNode` when a node lacks inputs.
    """
    for index in table.holes:
        node = drafts.rows[index].node
        least = least_inputs(node.domain, node.op)
        if len(node.inputs) < least:
            inputs = f"{len(node.inputs)} input{'s' if len(node.inputs) != 1 else ''}"
            raise BadNode(drafts.rows[index].site, f"it has {inputs} and needs {least}")
    if not table.unresolved:
        return
    index = table.unresolved[0]
    row, layer = drafts.rows[index], table.layers[index]
    subject = f"the work of `{layer.name}` ({layer.op}) in `{name}` is unknown"
    if row.macs is not None:
        region = row.node.region
        while flat.regions[region].parent and flat.regions[flat.regions[region].parent].kind != "graph":
            region = flat.regions[region].parent
        loop = flat.regions[region].node
        message = f"{subject}: how often `{loop}` runs is decided at run time"
        name = flat.regions[region].count
        name = name if name in {item.name for item in flat.inputs} else loop
        hint = f'say how often: `--bind "{name}=N"` (in a spec: `bind {{ "{name}": N }}`)'
        raise Diagnosed(diagnostic("AS615", message, span, hints=(hint,)))
    if bound.open:
        places = ", ".join(_place(item) for item in bound.open[:_SHOWN])
        raise Diagnosed(diagnostic("AS606", f"{subject}: {places}", span, hints=_binding(bound.open)))
    culprit = _culprit(row.node, flat, bound.facts)
    more = len(table.unresolved) - 1
    also = f" (and that of {more} row{'s' if more > 1 else ''} more)" if more else ""
    message = f"{subject}{also}: the shape of the result of `{shown(culprit)}` ({culprit.op}) cannot be inferred"
    known = operator(culprit.domain, culprit.op) is not None
    hints = (
        "its target is data: export the model with its shape vectors inside the file"
        if known
        else f"no rule tells what it makes: the file may say the shape of `{culprit.outputs[0]}` in its `value_info`",
    )
    yield diagnostic("AS607", message, span, hints=hints)


def _place(item: Open) -> str:
    if item.axis is None:
        return f"input `{item.input}` has no shape"
    return f"input `{item.input}` axis {item.axis} is {f'`{item.symbol}`' if item.symbol else 'not given'}"


def _binding(openings: Sequence[Open]) -> Iterator[str]:
    """What to write, for the command line and for a spec."""
    symbols = list(dict.fromkeys(item.symbol for item in openings if item.symbol))
    if any(item.axis == 0 for item in openings):
        yield "give the batch with `--batch N` (in a spec: `training { micro_batch: N }`)"
    if symbols:
        yield (
            "bind "
            + ", ".join(f"`--bind {symbol}=N`" for symbol in symbols)
            + f" (in a spec: `bind {{ {symbols[0]}: N }}`)"
        )
    unnamed = next((item.input for item in openings if not item.symbol), None)
    if unnamed is not None:
        yield f'give the shape in a spec: `input "{unnamed}" {{ shape: [...] }}`'


def _culprit(node: Node, flat: Flat, facts: Facts) -> Node:
    """The node before a row whose result is unknown although all that it reads is known."""
    makers = {name: index for index, maker in enumerate(flat.nodes) for name in maker.outputs}
    place = len(flat.nodes)
    while True:
        unknown = [makers[name] for name in node.inputs if name in makers and facts.sizes.get(name) is None]
        before = [index for index in unknown if index < place]
        if not before:
            return node
        place = before[0]
        node = flat.nodes[place]


def notes(
    name: str,
    source: str | Path | bytes,
    file: ModelFile,
    flat: Flat,
    drafts: Drafts,
    table: Rows,
    strict: bool,
    span: Span | None,
) -> list[Diagnostic]:
    """Warnings and notes, in a fixed order."""
    found = [
        *_unknown(name, drafts, "AS614" if strict else "AS830", span),
        *_ties(drafts, table, span),
        *_doubtful(drafts, table, span),
        *_newer(name, file, source, span),
        *_external(name, source, file, span),
    ]
    holes = (index for index in table.holes if drafts.rows[index].row is not UNKNOWN_OPERATOR)
    counted = [table.layers[index] for index in holes if table.layers[index].counted]
    if counted:
        labels = [f"`{layer.name}` ({layer.op})" for layer in counted]
        message = f"the extents of {_some(labels)} in `{name}` are unknown: their FLOPs and bytes are left out"
        found.append(diagnostic("AS616" if strict else "AS835", message, span))
    if not flat.gradients:
        found += _unused(name, flat, span)
    if flat.gradients:
        message = f"`{name}` is a training graph: {flat.gradients} gradient nodes are left out, forward implies them"
        found.append(diagnostic("AS836", message, span))
    if not any(layer.weight is not None or layer.macs for layer in table.layers):
        found.append(diagnostic("AS837", f"`{name}` has no layer with weights and no matrix product", span))
    return found


def _some(labels: Sequence[str]) -> str:
    """The first labels, and how many more there are."""
    more = len(labels) - _SHOWN
    return ", ".join(labels[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _unknown(name: str, drafts: Drafts, code: str, span: Span | None) -> Iterator[Diagnostic]:
    for op, nodes in drafts.unknown.items():
        weights = {item: drafts.stored[item] for node in nodes for item in node.inputs if item in drafts.stored}
        count = sum(elements(constant.shape) or 0 for constant in weights.values() if "float" in constant.dtype)
        count += sum(_floats(value) for node in nodes for value in node.attributes.values())
        left = f"its FLOPs and {count:,} numbers in its weights are left out" if count else "its FLOPs are left out"
        places = f"`{shown(nodes[0])}`" + (f" and {len(nodes) - 1} more" if len(nodes) > 1 else "")
        yield diagnostic(code, f"operator `{op}` in `{name}` is unknown ({places}): {left}", span)


def _floats(attribute: object) -> int:
    """Numbers in a list of floats: coefficients that an operator holds itself."""
    return sum(isinstance(item, float) for item in attribute) if isinstance(attribute, tuple) else 0


def _ties(drafts: Drafts, table: Rows, span: Span | None) -> Iterator[Diagnostic]:
    """Tables whose transpose is another, nameless weight: what the exporter makes of a tied head."""
    owned = [
        (row, layer)
        for row, layer in zip(drafts.rows, table.layers, strict=True)
        if layer.weight and not layer.shared_with
    ]
    tables = {
        layer.weight.shape: layer
        for row, layer in owned
        if row.row.table and layer.weight and len(set(layer.weight.shape)) > 1
    }
    for row, layer in owned:
        weight = layer.weight
        partner = tables.get(weight.shape[::-1]) if weight is not None and not row.row.table else None
        if weight is None or partner is None or partner.weight is None or not is_anonymous(row.weights[0].root):
            continue
        first, second = partner.weight.name, weight.name
        message = (
            f"possible tie: `{first}` and `{second}` are transposes of each other in shape, "
            f"and {weight.elements:,} parameters count twice"
        )
        yield diagnostic(
            "AS831",
            message,
            span,
            hints=(f'if they are one weight: `tie: [["{first}", "{second}"]]` or `--tie {first}={second}`',),
        )


def _doubtful(drafts: Drafts, table: Rows, span: Span | None) -> Iterator[Diagnostic]:
    labels = [f"`{layer.name}`" for row, layer in zip(drafts.rows, table.layers, strict=True) if row.doubtful]
    if labels:
        message = f"{_some(labels)} may hold learned positions or a fixed table; counted as parameters"
        yield diagnostic("AS832", message, span, hints=('for a fixed table: `layer "NAME" { freeze: true }`',))


def _unused(name: str, flat: Flat, span: Span | None) -> Iterator[Diagnostic]:
    """Stored tensors that no node reads: what an export left behind."""
    read = {item for node in flat.nodes for item in node.inputs} | set(flat.outputs)
    idle = [item for item in flat.constants.values() if item.name not in read and "float" in item.dtype]
    labels = [f"`{item.name}` ({elements(item.shape):,} values)" for item in idle if (elements(item.shape) or 0) > 1]
    if labels:
        message = f"no node of `{name}` uses {_some(labels)}: not counted"
        yield diagnostic("AS838", message, span)


def _newer(name: str, file: ModelFile, source: str | Path | bytes, span: Span | None) -> Iterator[Diagnostic]:
    if isinstance(source, str) and source.startswith("zoo:"):
        return
    import onnx  # noqa: PLC0415 - loaded already, to read the file

    newest, version = onnx.defs.onnx_opset_version(), file.versions.get("", 0)
    if version > newest:
        yield diagnostic(
            "AS833",
            f"`{name}` uses opset {version}, and the installed onnx knows {newest}: new operators may be unknown",
            span,
        )


def _external(name: str, source: str | Path | bytes, file: ModelFile, span: Span | None) -> Iterator[Diagnostic]:
    """Weights beside the model that are not there: nothing needs them, but the user may."""
    if isinstance(source, bytes):
        return
    folder = Path(source).parent
    plain = [location for location in file.external if location and "\0" not in location and not _leaves(location)]
    missing = [location for location in plain if not (folder / location).exists()]
    if missing:
        files = _some([f"`{item}`" for item in missing])
        message = f"the weights of `{name}` lie in {files}, which is not there; only shapes are needed"
        yield diagnostic("AS834", message, span)


def _leaves(location: str) -> bool:
    """Whether a path points outside the model's folder: such paths are not even looked at."""
    path = Path(location)
    return path.is_absolute() or ".." in path.parts or len(location) > 255
