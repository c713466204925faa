"""An ONNX file, or a model of the zoo -> the layers of one micro-batch. Weights are never read.

`load` (skim, decode) -> `flatten` -> `bind` -> `infer` -> `draft` -> `rows`; all of them share the table `operators`.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic
from astrac.models import zoo
from astrac.models.model import Model
from astrac.models.onnx.bind import bind_inputs
from astrac.models.onnx.digest import digest
from astrac.models.onnx.drafts import draft
from astrac.models.onnx.flatten import flatten
from astrac.models.onnx.infer import BadNode
from astrac.models.onnx.load import load
from astrac.models.onnx.names import shown
from astrac.models.onnx.report import notes, unknown_work
from astrac.models.onnx.rows import names_of, resolve_ties, rows
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from astrac.models.graph import ModelFile
    from astrac.source import Span

ZOO = "zoo:"

_LONGEST = 1000
"""Characters of a message."""


def read_model(
    name: str,
    source: str | Path | bytes,
    *,
    bind: Mapping[str, int] | None = None,
    inputs: Mapping[str, tuple[int | str, ...]] | None = None,
    batch: int | None = None,
    ties: Sequence[tuple[str, str]] = (),
    strict: bool = False,
    partial: bool = False,
    span: Span | None = None,
) -> Result[Model]:
    """The layers of a model file.

    Args:
        name: of the model, for the result.
        source: a path as the user may open it, `zoo:NAME`, or the bytes of a file.
        bind: values of symbolic extents, or of scalar integer inputs such as a loop's trip count.
        inputs: shapes of graph inputs, which may name symbols and `batch`.
        batch: samples in the micro-batch; None keeps what the file says (zoo models: 1).
        ties: pairs of weights (or layers) that are one and the same.
        strict: what cannot be counted is an error, not a warning.
        partial: the layers are wanted although the work of some is unknown, which are not `counted` then.
        span: the path in a spec, where every finding points.

    Returns:
        The model, and what there is to say about it; no value when any finding is an error.
    """
    try:
        with _collector_paused():
            file, shown_name, batch = _open(name, source, batch, span)
            flat = flatten(shown_name, file, span)
            bound = bind_inputs(shown_name, flat, bind or {}, inputs or {}, batch, span)
            drafts = draft(flat, bound.facts, bound.weights)
            names = names_of(drafts)
            tied = resolve_ties(shown_name, drafts, names, ties, span)
            table = rows(flat, bound.facts, drafts, names, tied)
            unknown = [*unknown_work(shown_name, bound, flat, drafts, table, span)]
            if unknown and not partial:
                return Result(None, (_printable(unknown[0]),))
            found = notes(shown_name, source, file, flat, drafts, table, strict, span)
            model = Model(name, table.layers, bound.batch, digest=digest(file), cuts=table.cuts, tied_params=table.tied)
        refused = any(item.is_error for item in found)
        return Result(None if refused else model, tuple(map(_printable, [*unknown, *found])))
    except Diagnosed as error:
        return Result(None, (_printable(error.diagnostic),))
    except BadNode as error:
        node = error.node
        message = f"the model `{name}` cannot run: `{shown(node)}` ({node.op}) does not fit: {error}"
        return Result(None, (_printable(diagnostic("AS611", message, span)),))


def _printable(finding: Diagnostic) -> Diagnostic:
    """One line of bounded length, whatever the names in the file are made of."""
    message, *hints = (
        "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST])
        for text in (finding.message, *finding.hints)
    )
    return replace(finding, message=message, hints=tuple(hints))


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Many small objects are made and all are kept: looking for garbage in between would cost a third more."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _open(
    name: str, source: str | Path | bytes, batch: int | None, span: Span | None
) -> tuple[ModelFile, str, int | None]:
    """The graph, the name to show, and the batch: a zoo model has one sample where nobody says how many."""
    if isinstance(source, bytes):
        return load(name, source, span), name, batch
    if isinstance(source, Path) or not source.startswith(ZOO):
        return load(str(source), Path(source), span), str(source), batch
    key = source.removeprefix(ZOO)
    if key not in zoo.MODELS:
        known = ", ".join(f"`{ZOO}{other}`" for other in zoo.MODELS)
        hints = (*did_you_mean(key, zoo.MODELS), f"the zoo holds {known}; any other model is a path to an ONNX file")
        raise Diagnosed(diagnostic("AS605", f"the zoo has no model `{key}`", span, hints=hints))
    return zoo.graph(key), source, 1 if batch is None else batch
