"""Everything that is written from the schemas and the codes, so that no meaning stands twice."""

from __future__ import annotations

from astrac.codes import CODES
from astrac.language import schema
from astrac.reference.diagnostics import diagnostics
from astrac.reference.schemas import schemas
from astrac.reference.typed import typed

__all__ = ["reference"]


def reference() -> dict[str, str]:
    """The generated files: path below the checkout's root -> the content that it should have."""
    return {
        "compiler/astrac/spec.py": typed(schema.spec()),
        "grammar/DIAGNOSTICS.md": diagnostics(CODES),
        "schemas/README.md": schemas(schema.spec()),
    }
