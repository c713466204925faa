"""What several commands share: their shape, arguments, reading, reporting."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from astrac.api import checking
from astrac.codes import Severity
from astrac.diagnostics import Diagnostic, has_errors
from astrac.render import render

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

STANDARD_INPUT = "-"


class Command(NamedTuple):
    """A row of COMMANDS: what it is for, an example, its arguments, and what runs it."""

    summary: str
    example: str
    declare: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]


class Usage(Exception):  # noqa: N818 - ends the run with status 2
    """Wrong use of a command, found after the arguments were parsed."""


def declare_variant(parser: ArgumentParser) -> None:
    """Adds what chooses a variant of a spec: profile, settings, point."""
    parser.add_argument("--profile", metavar="NAME", help="lay the spec's profile NAME over it")
    parser.add_argument(
        "--set", metavar="PATH=VALUE", action="append", default=[], help="set a value, as in training.micro_batch=2"
    )
    parser.add_argument("--point", metavar="NAME", help="take one point of the sweep instead of all")


def declare_format(parser: ArgumentParser, *choices: str) -> None:
    """Adds `--format`; the first choice is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help="of the output (default: %(default)s)")


def variant(options: Namespace, targets: tuple[str, ...] = ()) -> checking.Options:
    """The variant that the arguments choose."""
    return checking.Options(
        profile=options.profile,
        settings=tuple(options.set),
        point=options.point,
        targets=targets,
        strict=getattr(options, "strict", False),
    )


def read(path: str) -> bytes:
    """A file, or the standard input for `-`."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(checking.MAX_SPEC_BYTES + 1)
    try:
        return checking.read(path)
    except OSError as error:
        raise Usage(f"cannot read {path}: {(error.strerror or 'failed').lower()}") from None


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Tells what the system has against a file that is written inside."""
    try:
        yield
    except FileExistsError:
        raise Usage(f"{path} exists already: remove it first, or choose another name") from None
    except OSError as error:
        raise Usage(f"cannot write {path}: {(error.strerror or 'failed').lower()}") from None


def shown(path: str) -> str:
    """A path as messages show it."""
    return "<stdin>" if path == STANDARD_INPUT else path


def report(findings: Sequence[Diagnostic], form: str = "text", *, errors_to: str = "stderr") -> None:
    """Writes diagnostics, for people with colours on a terminal unless NO_COLOR is set."""
    stream = sys.stdout if errors_to == "stdout" else sys.stderr
    colour = form == "text" and stream.isatty() and not os.environ.get("NO_COLOR")
    shown = render(findings, form, colour=colour)
    # What follows on a terminal (another report, a summary) stands apart.
    stream.write(f"{shown}\n" if shown and form == "text" and errors_to == "stderr" else shown)


def specs(paths: Iterable[str]) -> Iterator[str]:
    """The files that are meant: folders stand for all `.astra` files below them."""
    for path in paths:
        if path != STANDARD_INPUT and Path(path).is_dir():
            if not (found := specs_below(path)):
                raise Usage(f"no .astra file below {path}")
            yield from found
        else:
            yield path


def specs_below(folder: str) -> list[str]:
    """All `.astra` files in a folder and in those below it, sorted."""
    return sorted(str(file) for file in Path(folder).rglob("*.astra") if file.is_file())


def told(findings: Sequence[Diagnostic], form: str, what: str) -> int:
    """Findings on the standard output and how many there are in what; the exit status."""
    report(findings, form, errors_to="stdout")
    if form == "text" and what:
        print(("\n" if findings else "") + _verdict(findings, what))
    return int(has_errors(findings))


def _verdict(findings: Sequence[Diagnostic], what: str) -> str:
    counts = [
        f"{count} {word}{'' if count == 1 else 's'}"
        for word in ("error", "warning")
        if (count := sum(finding.severity is Severity(word) for finding in dict.fromkeys(findings)))
    ]
    return f"{what}: {', '.join(counts) if counts else 'clean'}"
