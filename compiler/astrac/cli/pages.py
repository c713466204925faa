"""Commands on what is written about astrac: explain, docs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from astrac.cli.shared import Usage, argument, command, flag
from astrac.codes import CODES
from astrac.suggest import nearest

if TYPE_CHECKING:
    from argparse import Namespace


@command(
    "astrac explain AS301",
    argument("code", nargs="?", metavar="CODE", help="such as AS301"),
    flag("--list", "all codes, a line each"),
)
def explain(options: Namespace) -> int:
    """Show the page of a diagnostic's code."""
    if options.list or options.code is None:
        for code in CODES.values():
            print(f"{code.code}  {code.severity.value:<8} {code.title}")
        return 0
    wanted = options.code.upper()
    if wanted not in CODES:
        guess = nearest(wanted, CODES, 0.7)
        raise Usage(f"no code `{options.code}`" + (f", did you mean `{guess}`?" if guess else "; `--list` shows all"))
    from textwrap import indent

    page = CODES[wanted]
    parts = [f"{page.code}: {page.title} ({page.severity.value})", page.what, page.why]
    if page.bad:
        bad, good = (indent(text.rstrip("\n"), "    ") for text in (page.bad, page.good))
        parts += [
            f"This is {'refused' if page.severity.value == 'error' else 'reported'}:",
            bad,
            "This is right:",
            good,
        ]
    sys.stdout.write("\n\n".join(parts) + "\n")
    return 0


@command("astrac docs --check", flag("--check", "compare instead of writing; status 1 when one differs"))
def docs(options: Namespace) -> int:
    """Write the generated references of a checkout."""
    from astrac import reference

    stale = reference.stale_references()
    for path in stale:
        print(f"{path} is {'not what the schemas say: run `astrac docs`' if options.check else 'written anew'}")
    if not options.check:
        reference.write_references()
    return int(options.check and bool(stale))
