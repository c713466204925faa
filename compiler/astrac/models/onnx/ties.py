"""Weights that only the user can know to be one: `tie: [["A", "B"]]`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, diagnostic
from astrac.models.onnx.rows import tensors
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.models.onnx.drafts import Drafts
    from astrac.source import Span


def resolve_ties(
    name: str, drafts: Drafts, names: Sequence[str], ties: Sequence[tuple[str, str]], span: Span | None
) -> dict[str, str]:
    """From each stored tensor to the one that it is the same as. Names may be those of weights or of layers."""
    sizes = tensors(drafts)
    roots = {label: row.weights[0].root for label, row in zip(names, drafts.rows, strict=True) if row.weights}
    roots |= {origin.alias: origin.root for row in drafts.rows for origin in row.weights if origin.alias}
    roots |= {root: root for root in sizes}
    found: dict[str, str] = {}
    for pair in ties:
        for label in pair:
            if label not in roots:
                hints = (*did_you_mean(label, roots), "a tie names two weights, or two layers")
                raise Diagnosed(diagnostic("AS613", f"`{name}` has no weight `{label}` to tie", span, hints=hints))
        first, second = (roots[label] for label in pair)
        if sizes[first] != sizes[second]:
            message = f"`{pair[0]}` ({sizes[first]:,} numbers) and `{pair[1]}` ({sizes[second]:,}) cannot be one weight"
            raise Diagnosed(diagnostic("AS613", message, span))
        first, second = found.get(first, first), found.get(second, second)
        if first != second:
            found = {key: first if value == second else value for key, value in found.items()}
            found[second] = first
    return found
