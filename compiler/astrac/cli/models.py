"""Commands on models: layers."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from astrac.cli.shared import (
    STANDARD_INPUT,
    Command,
    Usage,
    declare_format,
    declare_variant,
    read,
    report,
    shown,
    variant,
)
from astrac.diagnostics import has_errors

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable

    from astrac.api.modelling import Layered
    from astrac.diagnostics import Result


def _declare_layers(parser: ArgumentParser) -> None:
    parser.add_argument("models", nargs="+", metavar="MODEL", help="an ONNX file, zoo:NAME, or a .astra spec")
    parser.add_argument(
        "--weights-only", action="store_true", help="only layers with a matrix or kernel, without biases"
    )
    parser.add_argument("--all", action="store_true", help="also layers without weights and MACs")
    parser.add_argument("--batch", type=_positive, metavar="N", help="samples (default: the file's, or 1)")
    parser.add_argument(
        "--bind", action="append", default=[], metavar="NAME=VALUE", help="value of a symbolic dimension"
    )
    parser.add_argument("--tie", action="append", default=[], metavar="A=B", help="two weights that are one tensor")
    parser.add_argument("--strict", action="store_true", help="an operator that is not known is an error")
    parser.add_argument("--compare", action="store_true", help="show two models side by side")
    declare_variant(parser)
    declare_format(parser, "text", "csv", "json")


def _positive(text: str) -> int:
    value = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is no whole number from 1")
    return value


def _pairs(texts: Iterable[str], option: str) -> list[tuple[str, str]]:
    pairs = [(left, right) for left, _, right in (text.partition("=") for text in texts)]
    for left, right in pairs:
        if not left or not right:
            raise Usage(f"{option} takes A=B, not `{left}`")
    return pairs


def _run_layers(options: Namespace) -> int:
    from astrac.models import table

    if options.compare != (len(options.models) == 2):
        raise Usage("--compare takes two models, and only --compare takes two")
    found = []
    for path in options.models:
        result = _layers(path, options)
        report(result.diagnostics)
        if result.value is None or has_errors(result.diagnostics):
            return 1
        found.append(result.value)
    if options.compare:
        sys.stdout.write(table.compare(*(layered.model for layered in found)))
        return 0
    rows = {"weights_only": options.weights_only, "all_rows": options.all}
    sys.stdout.write(table.render(found[0].model, options.format, **rows, widths=found[0].widths))
    return 0


def _layers(path: str, options: Namespace) -> Result[Layered]:
    from astrac.api import modelling

    if path != STANDARD_INPUT and not path.endswith(".astra"):
        return modelling.layers_of_file(
            path,
            batch=options.batch,
            bind={name: _whole(value, f"--bind {name}") for name, value in _pairs(options.bind, "--bind")},
            ties=_pairs(options.tie, "--tie"),
            strict=options.strict,
        )
    if options.batch or options.bind or options.tie:
        raise Usage("a spec says batch, bindings and ties itself: `training.micro_batch`, `model { bind, tie }`")
    return modelling.layers_of_spec(shown(path), read(path), variant(options))


def _whole(text: str, option: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Usage(f"{option} takes a whole number, not `{text}`")
    return int(text)


COMMANDS = {
    "layers": Command(
        "show the layers of an ONNX model or of a spec's model: parameters, bytes, multiply-accumulates",
        "astrac layers zoo:resnet50 --weights-only --format csv",
        _declare_layers,
        _run_layers,
    ),
}
