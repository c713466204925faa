"""`syntax.File` -> one closed `Variant` for each point of the sweep: `use`, `from`, `profile`, `--set`, `sweep`.

Overlay has one rule everywhere: scalars and lists replace, blocks merge by kind and name, new blocks come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Diagnostic, Result, diagnostic, quoted
from astrac.language import schema, syntax
from astrac.language.resolve.copy import Copier, named
from astrac.language.resolve.draft import Draft
from astrac.language.resolve.files import Files, gather
from astrac.language.resolve.sweep import points
from astrac.source import Source
from astrac.suggest import did_you_mean, listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from astrac.language.resolve.files import Load
    from astrac.language.resolve.sweep import Point

__all__ = ["LOST", "Prepared", "prepare", "resolve"]

LOST = ("AS208", "AS211", "AS216")
"""What may be missing because it stands in something that did not parse."""


@dataclass(frozen=True)
class Prepared:
    """A root file with everything chosen but the point of its sweep.

    Attributes:
        draft: with the profile laid over it.
        settings: what `--set` says.
        swept: items that are swept besides those of the file's `sweep`, or in their place.
    """

    draft: Draft
    settings: tuple[syntax.Attribute, ...]
    swept: tuple[syntax.Item, ...]

    def points(self) -> Iterator[Point]:
        """The points of the sweep, one without a name where nothing is swept; raises Diagnosed."""
        return points(self.draft.file, self.settings, self.swept, self.draft.lets)

    def variant(self, point: Point) -> syntax.Variant:
        """The closed file of a point; raises Diagnosed."""
        return self.draft.assigned([*self.settings, *point.assignments]).closed(point)


def prepare(
    file: syntax.File,
    load: Load,
    profile: str | None = None,
    settings: Sequence[syntax.Attribute] = (),
    swept: Sequence[syntax.Item] = (),
) -> Result[Prepared]:
    """A root file, ready for any of its points.

    Args:
        file: the root file.
        load: parses a used file by its path (relative to the working directory, or `std/...`); raises OSError.
        profile: the overlay chosen with `--profile`.
        settings: what `--set` says, each as the attribute `path: value`.
        swept: items of a sweep besides the file's own; those of one key replace it.

    Returns:
        None where an error leaves nothing that means anything; diagnostics are AS2xx, and what `load` found.
    """
    findings: list[Diagnostic] = []
    files = gather(file, load, findings)
    copier = Copier(named(item for part in (file, *files.used) for item in part.items), findings, broken=files.broken)
    try:
        draft = _profiled(_draft(files, copier, findings), copier, profile)
    except Diagnosed as error:
        return Result(None, _with(error, findings, broken=files.broken))
    return Result(Prepared(draft, tuple(settings), tuple(swept)), tuple(findings))


def resolve(
    file: syntax.File, load: Load, profile: str | None = None, settings: Sequence[syntax.Attribute] = ()
) -> Result[tuple[syntax.Variant, ...]]:
    """The variants of a root file, one for each point of its sweep, from what `prepare` takes."""
    prepared, findings = prepare(file, load, profile, settings)
    if prepared is None:
        return Result(None, findings)
    try:
        return Result(tuple(map(prepared.variant, prepared.points())), findings)
    except Diagnosed as error:
        return Result(None, _with(error, findings, broken=prepared.draft.broken))


def _with(error: Diagnosed, findings: Sequence[Diagnostic], *, broken: bool) -> tuple[Diagnostic, ...]:
    """Findings and an error, unless what it misses may stand in what did not parse."""
    lost = broken and error.diagnostic.code in LOST
    return tuple(findings) if lost else (*findings, error.diagnostic)


def _draft(files: Files, copier: Copier, findings: list[Diagnostic]) -> Draft:
    items = files.root.items
    attributes = [item for item in items if isinstance(item, syntax.Attribute)]
    kinds = schema.spec()["properties"]
    for item in attributes:
        if item.key_text not in kinds and not files.broken:  # it may belong to a block that did not parse
            message = f"{quoted(item.key_text)} is no key at top level"
            hints = did_you_mean(item.key_text, kinds) or ("keys at top level pick a block: `hardware: h100_sxm`",)
            findings.append(diagnostic("AS401", message, item.key_span, hints=hints))
    lets: dict[str, syntax.Let] = {}
    for file in (files.root, *files.used):
        for let in file.items:
            if isinstance(let, syntax.Let):
                lets.setdefault(let.name.text, let)
    used = named(item for file in files.used for item in file.items)
    return Draft(
        file=files.root,
        lets=lets,
        used={key: copier.block(block) for key, block in used.items()},
        blocks=tuple(copier.block(item) for item in items if isinstance(item, syntax.Block)),
        picks={item.key_text: item for item in attributes if item.key_text in kinds},
        assertions=tuple(item for item in items if isinstance(item, syntax.Assertion)),
        broken=files.broken,
    )


def _profiled(draft: Draft, copier: Copier, name: str | None) -> Draft:
    if name is None:
        return draft
    profiles = {item.name.text: item for item in draft.file.items if isinstance(item, syntax.Profile)}
    if name not in profiles:
        place = Source("--profile", name).span(0, len(name))
        hints = did_you_mean(name, profiles) or listed(sorted(profiles)) or ("the file has none",)
        raise Diagnosed(diagnostic("AS210", f"no profile is named {quoted(name)}", place, hints=hints))
    items = profiles[name].items
    return draft.overlaid(tuple(copier.block(item) if isinstance(item, syntax.Block) else item for item in items))
