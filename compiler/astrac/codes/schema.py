"""AS4xx."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from astrac.codes.row import Code

ROWS: tuple[Code, ...] = ()
