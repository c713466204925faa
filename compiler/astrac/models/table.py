"""The layer table: a row a layer, as text, CSV or JSON, and two models side by side."""

from __future__ import annotations

import csv
import io
import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from astrac.figures import amount, columns
from astrac.models.model import Layer, Model, stored_bytes, traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from astrac.models.model import Tensor

    Cell: TypeAlias = str | int
    Record: TypeAlias = dict[str, object]

COLUMNS = ("layer", "op", "weight_shape", "params", "dtype", "weight_bytes", "macs")
"""Of the CSV, and the first keys of a row in JSON."""

UNKNOWN = "?"
"""Stands for work that nobody can tell; null in JSON."""

ELEMENTWISE = frozenset({"Add", "Sub", "Sum", "Mul", "Div", "PRelu", "Concat"})
"""Operators whose trained operand is no matrix, whatever its extents."""


class ElementBytes(NamedTuple):
    """How a spec trains: bytes an element of weights, their gradients, and activations."""

    weights: int
    gradients: int
    activations: int


_MANY = 4000
"""Rows from which a comparison goes by names too: thousands of equal rows take a matcher for ever."""


def rows(model: Model, *, weights_only: bool = False, all_rows: bool = False) -> tuple[Layer, ...]:
    """The rows that a table shows.

    Args:
        model: the model.
        weights_only: only layers with a matrix, kernel or table.
        all_rows: also layers with neither weights nor products (elementwise operators, pooling, copies).
    """
    if weights_only:
        return tuple(layer for layer in model.layers if _has_matrix(layer))
    return tuple(
        layer
        for layer in model.layers
        if all_rows or layer.macs or layer.weight is not None or layer.bias is not None or not layer.counted
    )


def _has_matrix(layer: Layer) -> bool:
    if layer.weight is None or layer.op in ELEMENTWISE:
        return False
    return layer.macs > 0 or len(layer.weight.shape) > 1 or layer.weight.numbers is not None


def shape(tensor: Tensor | None) -> str:
    """Extents as `64x3x7x7`, empty for no tensor."""
    return "" if tensor is None else "x".join(map(str, tensor.shape))


def cells(layer: Layer, *, weights_only: bool = False) -> tuple[Cell, ...]:
    """The row's values in the order of `COLUMNS`."""
    weight = layer.weight
    owned = 0 if weight is None or layer.shared_with is not None else weight.elements
    return (
        layer.name,
        layer.op,
        shape(weight),
        owned if weights_only else layer.params,
        "" if weight is None else weight.dtype,
        0 if weight is None else weight.bytes,
        layer.macs if layer.counted else UNKNOWN,
    )


def render(
    model: Model,
    form: str,
    *,
    weights_only: bool = False,
    all_rows: bool = False,
    widths: ElementBytes | None = None,
) -> str:
    """The table as `text`, `csv` or `json`, with a last newline.

    `widths` prices traffic and kept activations as a spec trains; without, they have the types that the file stores.
    """
    shown = rows(model, weights_only=weights_only, all_rows=all_rows)
    if form == "csv":
        return _csv(shown, weights_only=weights_only)
    if form == "json":
        return _json(model, shown, widths, weights_only=weights_only)
    return _text(model, shown, widths, weights_only=weights_only)


def _csv(shown: Sequence[Layer], *, weights_only: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(cells(layer, weights_only=weights_only) for layer in shown)
    return out.getvalue()


def _json(model: Model, shown: Sequence[Layer], widths: ElementBytes | None, *, weights_only: bool) -> str:
    names = [layer.name for layer in model.layers]
    layers = [record(layer, names, widths, weights_only=weights_only) for layer in shown]
    content = {
        "model": model.name,
        "batch": model.batch,
        "digest": model.digest,
        "layers": layers,
        "totals": totals(model, shown, widths, weights_only=weights_only),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def record(
    layer: Layer, names: Sequence[str], widths: ElementBytes | None = None, *, weights_only: bool = False
) -> Record:
    """The row as JSON has it: the columns, then tensors, work, traffic and edges."""
    first = dict(zip(COLUMNS, cells(layer, weights_only=weights_only), strict=True))
    read, written = (_activation_bytes(layer, count, widths) for count in (layer.input_elements, layer.output_elements))
    weights = _weight_bytes(layer, None if widths is None else widths.weights)
    gradients = _weight_bytes(layer, None if widths is None else widths.gradients)
    moved = traffic(layer, read, written, written, weights, gradients)
    trains = layer.trainable and (layer.weight is not None or layer.bias is not None)
    return {
        **first,
        "macs": layer.macs if layer.counted else None,
        "weight": None if layer.weight is None else layer.weight.name,
        "weight_extents": None if layer.weight is None else list(layer.weight.shape),
        "bias": None if layer.bias is None else layer.bias.name,
        "bias_params": 0 if layer.bias is None else layer.bias.elements,
        "param_bytes": sum(tensor.bytes for tensor in layer.owned),
        "trainable": layer.trainable,
        "shared_with": layer.shared_with,
        "state_elements": layer.state_elements,
        "flops": 2 * layer.macs,
        "input_gradient_flops": 2 * layer.input_gradient_macs,
        "weight_gradient_flops": 2 * layer.weight_gradient_macs,
        "vector_flops": layer.vector_flops,
        "matmuls": [list(matmul) for matmul in layer.matmuls],
        "bytes_moved": {
            "forward": moved.forward,
            "input_gradient": moved.input_gradient if layer.input_gradient else 0,
            "weight_gradient": moved.weight_gradient if trains else 0,
        },
        "activation_type": layer.data_type,
        "input_elements": layer.input_elements,
        "output_elements": layer.output_elements,
        "kept_elements": layer.kept_elements,
        "kept_bytes": _activation_bytes(layer, layer.kept_elements, widths),
        "input_gradient": layer.input_gradient,
        "inputs": [names[index] for index in layer.inputs],
        "runs": layer.runs,
    }


def _activation_bytes(layer: Layer, elements: int, widths: ElementBytes | None) -> int:
    return stored_bytes(elements, layer.data_type) if widths is None else elements * widths.activations


def _weight_bytes(layer: Layer, width: int | None) -> int:
    """Bytes of trained tensors that one pass reads or writes: of a table only the rows that it selects."""
    tensors = [tensor for tensor in (layer.weight, layer.bias, *layer.others) if tensor is not None]
    rows = 0
    if layer.weight_reads is not None and layer.weight is not None:
        tensors.remove(layer.weight)
        rows = stored_bytes(layer.weight_reads, layer.weight.dtype) if width is None else layer.weight_reads * width
    return rows + sum(tensor.bytes if width is None else tensor.elements * width for tensor in tensors)


def totals(
    model: Model, shown: Iterable[Layer], widths: ElementBytes | None = None, *, weights_only: bool = False
) -> dict[str, int]:
    """Sums over the model; with `weights_only` parameters and their bytes are those of the matrices shown.

    `params` counts tied weights once, `file_params` as the file stores them, `trainable_params` without frozen ones.
    """
    running = [layer for layer in model.layers if layer.runs]
    if weights_only:
        owned = [layer.weight for layer in shown if layer.weight is not None and layer.shared_with is None]
    else:
        owned = [tensor for layer in model.layers for tensor in layer.owned]
    params = sum(tensor.elements for tensor in owned)
    return {
        "params": params,
        "trainable_params": params if weights_only else model.trainable_params,
        "file_params": params if weights_only else model.params + model.tied_params,
        "macs": model.macs,
        "weight_bytes": sum(tensor.bytes for tensor in owned),
        "flops": 2 * model.macs,
        "input_gradient_flops": sum(2 * layer.input_gradient_macs for layer in running),
        "weight_gradient_flops": sum(2 * layer.weight_gradient_macs for layer in running),
        "vector_flops": sum(layer.vector_flops for layer in running),
        "activation_elements": sum(layer.output_elements for layer in running),
        "kept_elements": sum(layer.kept_elements for layer in running),
        "kept_bytes": sum(_activation_bytes(layer, layer.kept_elements, widths) for layer in running),
        "state_elements": sum(layer.state_elements for layer in running),
        "layers": len(model.layers),
    }


def _summed(layer: Layer, *, weights_only: bool) -> tuple[Cell, ...]:
    """The row for people: its bytes are those of its parameters, so that both columns sum to the totals."""
    *first, stored, macs = cells(layer, weights_only=weights_only)
    return (*first, stored if weights_only else sum(tensor.bytes for tensor in layer.owned), macs)


def _text(model: Model, shown: Sequence[Layer], widths: ElementBytes | None, *, weights_only: bool) -> str:
    head = ("layer", "operator", "weight", "parameters", "type", "bytes", "MACs")
    body = [
        tuple(f"{cell:,}" if isinstance(cell, int) else cell for cell in _summed(layer, weights_only=weights_only))
        for layer in shown
    ]
    return (
        "\n".join(
            [*columns([head, *body], left=(0, 1, 2, 4)), "", *summary(model, shown, widths, weights_only=weights_only)]
        )
        + "\n"
    )


def summary(
    model: Model, shown: Iterable[Layer], widths: ElementBytes | None = None, *, weights_only: bool = False
) -> list[str]:
    """The model as people know it, one line a fact."""
    sums = totals(model, shown, widths, weights_only=weights_only)
    backward = (_amount(sums["input_gradient_flops"], "FLOP"), _amount(sums["weight_gradient_flops"], "FLOP"))
    forward = f"{_amount(sums['macs'], 'MAC')} = {_amount(sums['flops'], 'FLOP')}"
    lines = [
        f"parameters   {_amount(sums['params'])} ({sums['params']:,})",
        f"weights      {_amount(sums['weight_bytes'], 'B')} as stored",
        f"forward      {forward} a micro-batch of {model.batch}",
        f"backward     {backward[0]} for inputs, {backward[1]} for weights",
        f"elementwise  {_amount(sums['vector_flops'], 'FLOP')} forward (norms, activations, pooling, softmax)",
        f"activations  {_amount(sums['kept_bytes'], 'B')} kept for backward",
    ]
    lines += [f"{'assumes':<13}{line}" for line in model.assumes]
    unknown = sum(not layer.counted for layer in model.layers)
    if unknown:
        many = "s" if unknown > 1 else ""
        lines.append(f"unknown      the work of {unknown} row{many} (`{UNKNOWN}`), in none of these sums")
    if sums["file_params"] != sums["params"]:
        file = _amount(sums["file_params"])
        lines.insert(1, f"in the file  {file} ({sums['file_params']:,}), tied weights repeated")
    if sums["trainable_params"] != sums["params"]:
        lines.insert(1, f"trainable    {_amount(sums['trainable_params'])} ({sums['trainable_params']:,})")
    return lines


def _amount(number: int, unit: str = "") -> str:
    return amount(number, unit, zeros=False)


def compare(first: Model, second: Model) -> str:
    """Both summaries, then the rows that differ in operator, shape, parameters or MACs; `-` first, `+` second."""
    mine, yours = rows(first), rows(second)
    ours, theirs = totals(first, mine), totals(second, yours)
    table = [("", first.name, second.name, "second / first")]
    for key, value in ours.items():
        ratio = f"{theirs[key] / value:.4g}" if value else "-" if theirs[key] else "1"
        table.append((key.replace("_", " "), f"{value:,}", f"{theirs[key]:,}", ratio))
    lines = [*columns(table, left=(0,)), ""]
    named = len(mine) + len(yours) > _MANY
    keys = [[cells(layer)[0 if named else 1 :] for layer in layers] for layers in (mine, yours)]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag == "equal":
            lines.append(f"  {end - start} rows are the same")
        else:
            lines += [f"- {_line(layer)}" for layer in mine[start:end]]
            lines += [f"+ {_line(layer)}" for layer in yours[from_:to]]
    return "\n".join(lines) + "\n"


def _line(layer: Layer) -> str:
    name, op, extents, params, _, _, macs = cells(layer)
    return f"{name}  {op}  {extents or '-'}  {params:,} parameters  {macs:,} MACs"
