"""Commands on what is written about astrac: explain, docs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from astrac.cli.shared import Command, Usage
from astrac.codes import CODES
from astrac.suggest import nearest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def _declare_explain(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as AS301")
    parser.add_argument("--list", action="store_true", help="all codes, a line each")


def _run_explain(options: Namespace) -> int:
    if options.list or options.code is None:
        for code in CODES.values():
            print(f"{code.code}  {code.severity.value:<8} {code.title}")
        return 0
    wanted = options.code.upper()
    if wanted not in CODES:
        guess = nearest(wanted, CODES, 0.7)
        raise Usage(f"no code `{options.code}`" + (f", did you mean `{guess}`?" if guess else "; `--list` shows all"))
    from astrac.api import showing

    sys.stdout.write(showing.page(wanted))
    return 0


def _declare_docs(parser: ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="compare instead of writing; status 1 when one differs")


def _run_docs(options: Namespace) -> int:
    from astrac.api import references

    stale = references.stale_references()
    for path in stale:
        print(f"{path} is {'not what the schemas say: run `astrac docs`' if options.check else 'written anew'}")
    if not options.check:
        references.write_references()
    return int(options.check and bool(stale))


COMMANDS = {
    "explain": Command("show the page of a diagnostic's code", "astrac explain AS301", _declare_explain, _run_explain),
    "docs": Command("write the generated references of a checkout", "astrac docs --check", _declare_docs, _run_docs),
}
