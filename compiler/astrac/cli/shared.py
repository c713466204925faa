"""What several commands share: their shape, arguments, reading, reporting."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentTypeError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from astrac.api import checking
from astrac.cli.streams import steering
from astrac.codes import Severity
from astrac.diagnostics import has_errors
from astrac.render import render
from astrac.simulators.table import words

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator, Sequence

    from astrac.diagnostics import Diagnostic

STANDARD_INPUT = "-"


Argument = tuple[tuple[str, ...], dict[str, Any]]
"""Names and settings as argparse takes them; `choices` may be a function, which is asked when they are needed."""


class Command(NamedTuple):
    """What a command is for, in a sentence; an example; its arguments, and what runs it."""

    summary: str
    example: str
    arguments: tuple[Argument, ...]
    run: Callable[[Namespace], int]

    def declare(self, parser: ArgumentParser) -> None:
        """Adds the arguments to a parser."""
        for names, settings in self.arguments:
            words = settings.get("choices")
            parser.add_argument(*names, **settings | ({"choices": words()} if callable(words) else {}))


def command(example: str, *arguments: Argument) -> Callable[[Callable[[Namespace], int]], Command]:
    """Makes a command of the function that runs it, whose docstring is what it is for."""
    return lambda run: Command(run.__doc__ or "", example, arguments, run)


def argument(*names: str, **settings: Any) -> Argument:
    """An argument of a command, as `ArgumentParser.add_argument` takes it."""
    return names, settings


def flag(name: str, meaning: str) -> Argument:
    """An argument that is given or not."""
    return argument(name, action="store_true", help=meaning)


def output_format(*choices: str) -> Argument:
    """The argument `--format`; the first choice is the default."""
    return argument("--format", choices=choices, default=choices[0], help="of the output (default: %(default)s)")


def whole(text: str) -> int:
    """A whole number, -1 for a text that is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def positive(text: str) -> int:
    """A whole number from 1, for `type` of an argument."""
    value = whole(text)
    if value < 1:
        raise ArgumentTypeError(f"`{text}` is no whole number from 1")
    return value


KIND = argument("--kind", choices=words, help="what the files are (default: what is in them tells)")

VARIANT = (
    argument("--profile", metavar="NAME", help="lay the spec's profile NAME over it"),
    argument(
        "--set", metavar="PATH=VALUE", action="append", default=[], help="set a value, as in training.micro_batch=2"
    ),
    argument("--point", metavar="NAME", help="take one point of the sweep instead of all"),
)
"""What chooses a variant of a spec: profile, settings, point."""


class Usage(Exception):  # noqa: N818 - ends the run with status 2
    """Wrong use of a command, found after the arguments were parsed."""


def variant(options: Namespace) -> checking.Options:
    """The variant that the arguments choose."""
    return checking.Options(
        profile=options.profile,
        settings=tuple(options.set),
        point=options.point,
        targets=tuple(getattr(options, "target", ())),
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
    shown += "\n" * (bool(shown) and form == "text" and errors_to == "stderr")
    if colour:
        steering(stream, shown)
    else:
        stream.write(shown)


def told(findings: Sequence[Diagnostic], form: str, what: str, clean: str = "clean") -> int:
    """Findings on the standard output and how many there are in what, `clean` for none; the exit status."""
    report(findings, form, errors_to="stdout")
    if form == "text" and what:
        once = dict.fromkeys(findings)
        counts = {word: sum(finding.severity is Severity(word) for finding in once) for word in ("error", "warning")}
        verdict = ", ".join(counted(count, word) for word, count in counts.items() if count) or clean
        print(("\n" if findings else "") + f"{what}: {verdict}")
    return int(has_errors(findings))


def counted(count: int, word: str) -> str:
    """So many of something."""
    return f"{count} {word}{'' if count == 1 else 's'}"
