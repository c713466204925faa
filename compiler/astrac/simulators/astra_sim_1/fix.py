"""A broken text of 1.0 -> edits of what has one right answer; order and blanks stay as they are elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.conform import load
from astrac.simulators.algorithms import words_2
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import Policy
from astrac.simulators.astra_sim_1.read_system import SETTINGS
from astrac.simulators.astra_sim_1.read_workload import KINDS as WORDS
from astrac.simulators.edits import Mender, of_document, same
from astrac.simulators.rows import Edit
from astrac.simulators.texts import json_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.source import Source


def fix(kind: str, source: Source, _beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
    """The edits of a text of one of `kinds.KINDS`."""
    if kind == "network-1":
        return of_document(source, "astra-sim-1-network", json_tree)
    return _system(source) if kind == "system-1" else _workload(source)


_PAIR = re.compile(r"(?<![\w-])([A-Za-z][\w-]*+)([ \t]*:[ \t]*)([^\s:]+)")
_COLUMN = re.compile(r"\S+")


def _system(source: Source) -> Iterator[Edit]:
    """`key: value`, the colon glued to the key and then a blank; words in their own case."""
    for match in _PAIR.finditer(source.text):
        key = match[1] if match[1] in SETTINGS else same(match[1], SETTINGS)
        if key is None:
            continue
        value = _setting(key, match[3])
        changed = (key, value) != (match[1], match[3]) or not re.fullmatch(r":[ \t]+", match[2])
        if changed and SETTINGS[key].value(value) is not None:
            yield Edit(match.start(), match.end(), f"{key}: {value}")


def _setting(key: str, value: str) -> str:
    """A value as its key takes it, the value itself where there is no one answer."""
    setting = SETTINGS[key]
    if setting.value(value) is not None and setting.advice(value) is None:
        return value
    if key in keys.IMPLEMENTATION_KEYS.values():
        words = [word for word in re.split(r"[_,;\[\]\"]+", value) if word]
        schema = load("system")
        mender = Mender(schema, words_2())
        mended = "_".join(str(mender.text(word, schema["$defs"]["algorithms"]["items"])) for word in words)
    elif value in {"true", "false"}:
        mended = str(int(value == "true"))
    elif re.fullmatch(r"\d{1,15}\.0*", value, re.ASCII):
        mended = value.partition(".")[0]
    else:
        mended = same(value, setting.takes.split("`")[1::2]) or value
    return mended if setting.value(mended) is not None else value


def _workload(source: Source) -> Iterator[Edit]:
    """The policies and the words for communication in capitals; numbers without a fraction."""
    policies = [policy.value for policy in Policy]
    first = _COLUMN.search(source.text)
    if first is not None and (policy := same(first[0], policies)) is not None:
        yield Edit(*first.span(), policy)
    for line in re.finditer(r"[^\r\n]+", source.text):
        columns = list(_COLUMN.finditer(source.text, *line.span()))
        if len(columns) not in {12, 13}:
            continue
        for at, column in enumerate(columns[2:], 2):
            mended = None
            if at in {3, 6, 9, 12}:
                mended = same(column[0], policies if at == 12 else WORDS)
            elif re.fullmatch(r"\d{1,18}\.0+", column[0], re.ASCII):
                mended = column[0].partition(".")[0]
            if mended is not None:
                yield Edit(*column.span(), mended)
