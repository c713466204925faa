"""How a collective's node names its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.job import ListedGroup

if TYPE_CHECKING:
    from astrac.job import Group


def involved(group: Group) -> tuple[bool, ...] | None:
    """The `involved_dim` list of a collective's node, None when it names a communicator group."""
    return None if isinstance(group, ListedGroup) else group.dimensions
