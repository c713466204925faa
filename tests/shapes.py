"""Transformer blocks, by way of the language."""

from astrac.language.construct import construct
from astrac.language.elaborate import elaborate
from astrac.language.parse import parse
from astrac.language.resolve import resolve
from astrac.resources import resource

AROUND = """
hardware h { peak { bf16: 1 TFLOPS }, memory { capacity: 1 GB, bandwidth: 1 GB/s } }
topology t { ring r { size: 2, bandwidth: 1 GB/s, latency: 1 ns } }
training { global_batch: 2, precision: bf16 }
"""


def load(path):
    """A file of the shipped library."""
    return parse(path, resource("specs", *path.split("/")).read_bytes())


def documents(name, text):
    """The elaborated variants of a text that is right."""
    file = parse(name, text.encode())
    variants = resolve(file.value, load)
    found = [elaborate(variant) for variant in variants.value]
    assert file.diagnostics + variants.diagnostics + sum((each.diagnostics for each in found), ()) == ()
    return [each.value for each in found]


def transformer(model):
    """The block of a model that a line or two of a spec give."""
    (document,) = documents("test.astra", f"{model}\n{AROUND}")
    return construct(document).model.transformer


def shaped(**given):
    """The block with these keys, `experts` a dictionary."""
    return transformer(f"model m {{ transformer {_block(given)} }}")


def _block(given):
    items = [
        f"{key} {_block(value)}" if isinstance(value, dict) else f"{key}: {str(value).lower()}"
        for key, value in given.items()
    ]
    return f"{{ {', '.join(items)} }}"
