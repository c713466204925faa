"""No input whatever ends in anything but diagnostics. The bench runs a hundred thousand of these."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astrac.render import render
from language import findings
from language_spoilt import spoilt
from language_texts import texts


def check(data):
    found = findings(data)
    for form in ("text", "json", "github"):
        render(found, form)


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_bytes(data):
    check(data)


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_characters(text):
    check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=100)
@given(texts())
def test_right_syntax_without_sense(text):
    assert not [found for found in findings(text) if found.code.startswith("AS1")]


@pytest.mark.parametrize("seed", range(200))
def test_spoilt_specs(seed):
    check(spoilt(random.Random(seed)).encode())
