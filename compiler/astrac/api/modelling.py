"""From a checked Spec, or a model file, to layers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from astrac.api.checking import DEFAULTS, Chain, Checked, Inputs, Options, Stop, check
from astrac.diagnostics import Diagnosed, Result
from astrac.models.model import Model
from astrac.models.table import ElementBytes
from astrac.models.transformer import read_transformer
from astrac.training.lower.overrides import override
from astrac.training.strategies.placement import place
from astrac.training.strategies.precision import own_type, widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.language.document import Document
    from astrac.source import Span
    from astrac.spec import Spec


@dataclass(frozen=True)
class Layered:
    """A model, and how wide its numbers are where a spec says how it trains; None: as the file stores them."""

    model: Model
    widths: ElementBytes | None = None


def spec_of(checked: Checked, chain: Chain) -> Spec:
    """The spec of a variant; Stop for a library."""
    if checked.spec is None:
        raise chain.refused("AS231", "the file is a library of blocks, not a spec", checked.document.source.whole())
    return checked.spec


def model_of(spec: Spec, document: Document, options: Options, inputs: Inputs, chain: Chain) -> Model:
    """The layers of one micro-batch."""
    name = spec.model.name or "model"
    if spec.model.transformer is not None:
        return _transformer(spec.model.transformer, name, _micro_batch(spec))
    if spec.model.onnx is None:
        return Model(name, (), 1)

    span = document.near("/model/onnx")
    path = spec.model.onnx
    shown, identity = _place(path, span)
    model = chain.take(
        _read(
            name,
            shown,
            identity,
            tuple(sorted((spec.model.bind or {}).items())),
            tuple((entry.name, tuple(entry.shape)) for entry in spec.model.inputs or ()),
            _micro_batch(spec),
            tuple((pair[0], pair[1]) for pair in spec.model.tie or ()),
            options.strict,
            span,
        )
    )
    inputs.contents[path if path.startswith("zoo:") else Path(path).name] = model.digest
    return model


_transformer = lru_cache(maxsize=32)(read_transformer)
"""The layers of a transformer, which points of a sweep share."""


def _place(path: str, span: Span) -> tuple[str, tuple[int, ...]]:
    """A model's path from here, and what tells whether its file is still the same; () for one of the zoo."""
    if path.startswith("zoo:"):
        return path, ()
    shown = str(Path(span.source.name).parent / path)
    try:
        status = Path(shown).stat()
    except (OSError, ValueError):
        return shown, ()
    return shown, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _read(
    name: str,
    path: str,
    _: tuple[int, ...],
    bind: tuple[tuple[str, int], ...],
    inputs: tuple[tuple[str, tuple[int | str, ...]], ...],
    batch: int,
    ties: tuple[tuple[str, str], ...],
    strict: bool,
    span: Span,
) -> Result[Model]:
    """The layers of a model's file, which all points of a sweep share that change nothing in them."""
    from astrac.models.onnx import read_model  # noqa: PLC0415 - onnx costs as much as all else together

    return read_model(
        name, path, bind=dict(bind), inputs=dict(inputs), batch=batch, ties=ties, strict=strict, span=span
    )


def model_file(path: str, span: Span) -> str:
    """The digest of a model's structure; of one of the zoo its name, of what cannot be read why."""
    shown, identity = _place(path, span)
    return _digest(shown, identity, span) if identity else path


@lru_cache(maxsize=32)
def _digest(path: str, _: tuple[int, ...], span: Span) -> str:
    from astrac.models.onnx.digest import digest  # noqa: PLC0415 - onnx costs as much as all else together
    from astrac.models.onnx.load import load  # noqa: PLC0415 - as above

    try:
        return digest(load(path, Path(path), span))
    except Diagnosed as stop:
        return stop.diagnostic.message


def _micro_batch(spec: Spec) -> int:
    """Samples at once; by default all that a rank has of a step."""
    assert spec.training is not None
    degrees = place(spec).degrees
    return spec.training.micro_batch or spec.training.global_batch // (degrees["data"] * degrees["expert"])


def layers_of_file(
    path: str, *, batch: int | None, bind: dict[str, int], ties: Sequence[tuple[str, str]], strict: bool
) -> Result[Layered]:
    """The layers of an ONNX file or of `zoo:NAME`.

    Args:
        path: as the user wrote it.
        batch: samples; None: the file's own.
        bind: values of symbolic dimensions.
        ties: pairs of weights that are one.
        strict: an operator that is not known is an error.
    """
    from astrac.models.onnx import read_model  # noqa: PLC0415 - onnx costs as much as all else together

    found = read_model(Path(path).stem, path, bind=bind, batch=batch, ties=ties, strict=strict, partial=True)
    return Result(None if found.value is None else Layered(found.value), found.diagnostics)


def layers_of_spec(name: str, data: bytes, options: Options = DEFAULTS) -> Result[Layered]:
    """The layers of a spec's model for one micro-batch, as wide as the spec trains them; of a sweep's first point."""
    chain, inputs = Chain(), Inputs({})
    try:
        point = chain.take(check(name, data, options, inputs))[0]
        chain.note(point.diagnostics)
        spec = spec_of(point, chain)
        model = model_of(spec, point.document, options, inputs, chain)
    except Stop:
        return Result(None, tuple(chain.found))
    model = override(model, spec.model.layers, cut=False)
    own = own_type(model)
    if spec.training is None or (spec.training.precision is None and own is None):
        return Result(Layered(model), tuple(chain.found))
    wide = widths(spec.training.precision, own or "")
    return Result(Layered(model, ElementBytes(wide.weights, wide.gradients, wide.activations)), tuple(chain.found))
