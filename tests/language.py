"""The front end as the tests of the language call it."""

from astrac.api.checking import Options, check, variants
from astrac.diagnostics import Diagnostic
from astrac.language.parse import parse

RING = "topology pod {{\n  ring a {{ {} }}\n}}\n"

SPEC = """use "std/hardware/h100.astra"
hardware: h100_sxm
topology pod {
  switch nvlink { size: 8, bandwidth: 450 GB/s, latency: 300 ns }
  switch rail { size: 4, bandwidth: 50 GB/s, latency: 1 us }
}
model m { transformer { layers: 4, hidden: 64, heads: 8, sequence: 32, vocabulary: 512 } }
parallelism {
  tensor { degree: 8, on: [nvlink] }
  data { on: [rail] }
}
training { global_batch: 64, micro_batch: 1, precision: bf16 }
"""


def findings(text: str | bytes, name: str = "spec.astra", **options) -> tuple[Diagnostic, ...]:
    """Everything that `astrac check` has to say of a text."""
    data = text.encode() if isinstance(text, str) else text
    result = check(name, data, Options(**options))
    return (*result.diagnostics, *(found for point in result.value or () for found in point.diagnostics))


def codes(text: str | bytes, **options) -> list[str]:
    """The codes alone."""
    return [found.code for found in findings(text, **options)]


def placed(text: str, **options) -> list[tuple[str, str]]:
    """Codes, and the characters that each is about."""
    return [(found.code, found.labels[0].span.text) for found in findings(text, **options)]


def documents(text: str | bytes, name: str = "spec.astra", **options):
    """The elaborated points of a spec that is right."""
    data = text.encode() if isinstance(text, str) else text
    result = variants(name, data, Options(**options))
    assert not result.diagnostics, [found.message for found in result.diagnostics]
    assert not any(found for _, found in result.value)
    return tuple(document for document, _ in result.value)


def tree(text: str | bytes, **options):
    """The document of a spec without a sweep."""
    (document,) = documents(text, **options)
    return document.tree if document.is_spec else document.library[0]


def file(text: str):
    """A text that parses."""
    result = parse("spec.astra", text.encode())
    assert not result.diagnostics, [found.message for found in result.diagnostics]
    return result.value
