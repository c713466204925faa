"""Texts from the templates of a target."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from jinja2 import Environment, StrictUndefined, Template

from astrac import resources


def render(target: str, name: str, **values: object) -> str:
    """The text of `templates/<target>/<name>.j2`; a name that it uses and is not given is an error of ours."""
    return _template(target, name).render(values)


def decimal(value: float) -> str:
    """A double with exactly the digits that it needs to be read back the same, and no exponent.

    YAML 1.1 readers take `1e-05` for a string.
    """
    return f"{Decimal(repr(float(value))):f}"


@cache
def _template(target: str, name: str) -> Template:
    environment = Environment(  # noqa: S701 - plain text, nothing to escape
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters["decimal"] = decimal
    return environment.from_string(resources.text("templates", target, f"{name}.j2"))
