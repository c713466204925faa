"""Custom collectives: an algorithm written as traces of sends, receives and reductions, one a member.

What ASTRA-sim does with them (its public source, and runs): one chunk a collective whatever `comm_size` says, the bytes
of the algorithm's own nodes, members by their place in the group, paths relative to the simulator's working folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from astrac import conform
from astrac.diagnostics import Diagnosed, diagnostic
from astrac.job import AxisGroup, Collective
from astrac.positioned import child
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2.kinds import KINDS
from astrac.simulators.trees import yaml_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from astrac.diagnostics import Diagnostic
    from astrac.job import Group, Job
    from astrac.positioned import Tree
    from astrac.source import Source, Span

TABLE = "per-node-custom-implementation"


class Custom(NamedTuple):
    """An algorithm that a system file names.

    Attributes:
        prefix: of its traces, as written.
        place: where it stands.
        key: of system.json; for an entry of a table the node's id.
        node: id of the node that it serves, None for all of a kind.
    """

    prefix: str
    place: Span
    key: str
    node: int | None = None


def customs(system: Tree) -> list[Custom]:
    """Those that a system file names for kinds of collectives."""
    found = []
    for key in keys.IMPLEMENTATION_KEYS.values():
        words = system.value.get(f"{key}-custom")
        if isinstance(words, list) and len(words) == 1 and isinstance(words[0], str):
            found.append(Custom(words[0], system.at(f"/{key}-custom/0"), f"{key}-custom"))
    return found


def named(system: Tree, path: Path) -> tuple[list[Custom], list[Diagnostic]]:
    """The algorithms that a system file names, directly or by a table, and what is wrong with the table.

    Args:
        system: the document.
        path: of its file.
    """
    found = customs(system)
    diagnostics: list[Diagnostic] = []
    table = system.value.get(TABLE)
    if isinstance(table, str):
        # ASTRA-sim starts from its working folder, which is nowhere written: the file's folder or one above it.
        bases = (path.parent, *path.resolve().parent.parents)
        here = next((base / table for base in bases if (base / table).is_file()), None)
        if here is None:
            diagnostics.append(diagnostic("AS785", f"`{table}` is not there", system.at(f"/{TABLE}")))
        else:
            try:
                entries, wrong = read_table(KINDS["custom-table"].text(here))
                found += entries
                diagnostics += wrong
            except Diagnosed as stop:
                diagnostics.append(stop.diagnostic)
    return found, [*diagnostics, *about_splits(system, found)]


def read_table(source: Source) -> tuple[list[Custom], tuple[Diagnostic, ...]]:
    """The entries of a table of algorithms by node, and AS785 for what ASTRA-sim cannot read or never uses."""
    try:
        tree = yaml_tree(source)
    except Diagnosed as stop:
        return [], (stop.diagnostic,)
    if not isinstance(tree.value, dict):
        message = "the table is `node: path`, an entry a line"
        return [], (diagnostic("AS785", message, source.whole()),)
    # A path may be a number: every scalar of YAML is a text to ASTRA-sim.
    value = {
        key: tree.at(child("", key)).text if isinstance(item, int | float) else item for key, item in tree.value.items()
    }
    wrong = {violation.pointer: violation.message for violation in conform.violations(value, "custom-table")}
    found = tuple(diagnostic("AS785", message, tree.keys[pointer]) for pointer, message in wrong.items())
    entries = [
        Custom(path, tree.keys[pointer], TABLE, int(key))
        for key, path in value.items()
        if (pointer := child("", key)) not in wrong
    ]
    return entries, found


def locate(prefix: str, near: Path) -> Path | None:
    """Where the traces of an algorithm are: from the folder of the file that names it upwards, or from here."""
    for base in (near, *near.resolve().parents, Path()):
        if (base / f"{prefix}.0.et").is_file():
            return base / prefix
    return None


def members(job: Job, entry: Custom) -> list[int]:
    """How many members the collectives have that an algorithm serves; none when it serves none."""
    sizes: set[int] = set()
    for program in job.programs:
        for op in program.ops:
            if not isinstance(op, Collective) or op.kind not in keys.IMPLEMENTATION_KEYS:
                continue
            serves = f"{keys.IMPLEMENTATION_KEYS[op.kind]}-custom" == entry.key or op.id == entry.node
            if serves:
                sizes.add(job.machine.npus if _by_dimensions(op.group) else job.size(op.group))
    return sorted(sizes)


def _by_dimensions(group: Group) -> bool:
    """Then all NPUs are members: ASTRA-sim does not look at `involved_dim` here."""
    return isinstance(group, AxisGroup) and group.dimensions is not None


def about_splits(system: Tree, entries: list[Custom]) -> Iterator[Diagnostic]:
    """AS786: a custom collective is one chunk, and ASTRA-sim waits for as many as the splits say."""
    splits = system.value.get("preferred-dataset-splits")
    if entries and isinstance(splits, int) and splits > 1:
        message = f"custom collectives never complete with {splits} chunks: `preferred-dataset-splits` must be 1"
        yield diagnostic("AS786", message, system.at("/preferred-dataset-splits"))
