"""A bundle: the files of one build, and the only code that writes any.

`write` puts a bundle into a folder so that whoever looks sees the old one or the new one, never a mixture.
"""

from astrac.bundle.artifact import MANIFEST, Artifact, Bundle, entries, json_text, read_manifest, text_artifact
from astrac.bundle.writing import write

__all__ = ["MANIFEST", "Artifact", "Bundle", "entries", "json_text", "read_manifest", "text_artifact", "write"]
