"""`syntax.Variant` -> `Document`: expressions become exact values, by what the schema says of each key.

Whatever is wrong with one value is reported there and leaves a hole, and the rest is elaborated all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Result, diagnostic
from astrac.language import schema
from astrac.language.document import Document
from astrac.language.elaborate.blocks import Blocks
from astrac.language.elaborate.findings import Findings
from astrac.language.elaborate.lets import Lets
from astrac.language.expression import Scope, Value, describe, evaluate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from astrac.diagnostics import Diagnostic
    from astrac.language import syntax
    from astrac.language.schema import Schema

__all__ = ["elaborate"]


def elaborate(variant: syntax.Variant, spec: Schema | None = None) -> Result[Document]:
    """The document of a variant; there always is one, with holes where something was wrong.

    Args:
        variant: a closed file.
        spec: the schema of a whole spec; the shipped one by default.

    Returns:
        The document, and AS2xx to AS4xx. A point that the sweep's `where` does not want has no diagnostics.
    """
    findings = Findings(broken=variant.broken)
    lets = Lets(variant.lets, findings)
    blocks = Blocks(spec or schema.spec(), variant, lets, findings)
    document = Document(
        source=variant.source,
        name=variant.name,
        point=variant.point,
        tree=blocks.tree(variant.in_force),
        library=blocks.library(variant.others),
        origins=blocks.origins,
        units=blocks.units,
        holes=frozenset(blocks.holes),
        lets=lets.values,
        assertions=variant.assertions,
        is_spec=variant.is_spec,
        available=variant.available,
        picks=variant.picks,
    )
    if variant.where is not None and not _wanted(document, variant.where, lets, findings):
        return Result(replace(document, excluded=True))
    return Result(document, _without_followers(findings.all, variant.in_force))


def _without_followers(found: Sequence[Diagnostic], in_force: Sequence[syntax.Block]) -> tuple[Diagnostic, ...]:
    """Findings but for references to what a block would have named that is wrong itself."""
    kinds = schema.spec()["properties"]
    homes = [
        block.span
        for block in in_force
        if any("x-names" in entry for entry in kinds[block.kind.text]["properties"].values())
    ]
    wrong = any(
        home.source is label.span.source and home.start <= label.span.start < home.end
        for finding in found
        if finding.code != "AS219"
        for label in finding.labels[:1]
        for home in homes
    )
    return tuple(finding for finding in found if not (wrong and finding.code == "AS219"))


def _wanted(document: Document, where: syntax.Expression, lets: Lets, findings: Findings) -> bool:
    """Whether the sweep wants this point; what cannot be said is an error, not a no."""

    def lookup(path: syntax.Path) -> Value:
        return lets.lookup(path) if len(path.names) == 1 else document.value(path)

    wanted = True
    with findings.collected():
        value = evaluate(where, Scope(lookup, lets.names))
        if not isinstance(value, bool):
            raise Diagnosed(diagnostic("AS304", f"`where` needs `true` or `false`, not {describe(value)}", where.span))
        wanted = value
    return wanted  # noqa: RET504 - what is raised inside is a finding, and the point is kept
