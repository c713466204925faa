"""The command line: the only package that prints or exits.

Exit status: 0 clean (also with warnings), 1 errors in the input, 2 wrong use of the command.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from astrac.cli import specs, streams, sweeps, tools
from astrac.cli.shared import Command, Usage
from astrac.version import __version__

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

__all__ = ["main"]

COMMANDS: dict[str, Command] = {
    "check": specs.check,
    "build": specs.build,
    "estimate": specs.estimate,
    "sweep": sweeps.sweep,
    "search": sweeps.search,
    "fmt": specs.fmt,
    "layers": specs.layers,
    "fix": tools.fix,
    "decode": tools.decode,
    "encode": tools.encode,
    "diff": tools.diff,
    "import": tools.import_,
    "explain": tools.explain,
    "docs": tools.docs,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    with streams.safe():
        return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    ours, simulators = _split(sys.argv[1:] if arguments is None else arguments)
    first = next((word for word in ours if not word.startswith("-")), None)
    if first is not None and first not in COMMANDS:
        from astrac.suggest import mean_or_list

        print(f"astrac: {first!a} is no command: {mean_or_list(first, COMMANDS)[0]}", file=sys.stderr)
        return 2
    parser = _parser(first)
    options = parser.parse_args(ours)
    options.simulator = simulators
    if options.command is None:
        parser.print_help()
        return 2
    try:
        status = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except Usage as error:
        print(f"astrac {options.command}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        # A full disk, at `> FILE`: what is still buffered must not fail once more on the way out.
        streams.drop(sys.stdout)
        where = "" if error.filename is None else f"{error.filename}: "
        print(f"astrac {options.command}: {where}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the simulator's own options (as `--option=value`), which `estimate` takes as they are."""
    if arguments[:1] != ["estimate"]:
        return list(arguments), []
    from astrac.simulators.table import simulators

    known = frozenset().union(*(simulator.options for simulator in simulators()))
    ours: list[str] = []
    theirs: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        option, mark, value = argument.partition("=")
        if option in known:
            theirs.append(argument if mark else f"{option}={next(rest, value)}")
        else:
            ours.append(argument)
    return ours, theirs


def _parser(chosen: str | None) -> ArgumentParser:
    """All commands, and the options of the one that is chosen: those of the others are not asked for."""
    parser = argparse.ArgumentParser(
        prog="astrac",
        description="Compiles .astra specs into ASTRA-sim bundles, with an estimate that equals the simulator's.",
        epilog="`astrac COMMAND --help` shows an example of each. Status: 0 clean, 1 errors in the input, 2 wrong use.",
    )
    parser.add_argument("--version", action="version", version=f"astrac {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        short = command.summary[:1].lower() + command.summary[1:].removesuffix(".")
        sub = commands.add_parser(name, help=short, description=command.summary, epilog=f"example: {command.example}")
        if name == chosen:
            command.declare(sub)
    return parser
