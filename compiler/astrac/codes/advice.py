"""AS8xx."""

from __future__ import annotations

from astrac.codes.row import Code

ROWS: tuple[Code, ...] = ()
