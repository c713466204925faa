"""A broken file of ASTRA-sim's -> the same text with what has one right answer put right.

Case of names, `8.0`, booleans for switches, scalars for lists, short lists; comments and order stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_1.job import Policy
from astrac.simulators.astra_sim_1.read_system import SETTINGS
from astrac.simulators.astra_sim_1.read_workload import KINDS as WORDS
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.astra_sim_2 import simulator as simulator_2
from astrac.simulators.astra_sim_2.fix import ALGORITHMS
from astrac.simulators.conform import load
from astrac.simulators.edits import Edit, Mender, apply, of_document
from astrac.simulators.edits import same as _same
from astrac.simulators.ns3 import simulator as ns3
from astrac.simulators.trees import json_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.source import Source


def fix(source: Source, kind: str, beside: Mapping[str, Sequence[Path]] | None = None) -> str:
    """The text of a file, mended; as it is where nothing has one right answer.

    Args:
        source: the text.
        kind: of `simulators.recognise.KINDS`.
        beside: files of the same folder, by kind.
    """
    if kind == "system-1":
        edits = _system_1(source)
    elif kind == "workload-1":
        edits = _workload_1(source)
    elif kind == "network-1":
        edits = of_document(source, "astra-sim-1-network", json_tree)
    elif kind.startswith("ns3"):
        edits = ns3.fix(kind, source, beside or {})
    else:
        edits = simulator_2.fix(kind, source, beside or {})
    return apply(source.text, edits)


def _lists() -> list[str]:
    return [keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED]


# -- texts of 1.0

_PAIR = re.compile(r"([A-Za-z][\w-]*)([ \t]*:[ \t]*)([^\s:]+)")
_COLUMN = re.compile(r"\S+")


def _system_1(source: Source) -> Iterator[Edit]:
    """`key: value`, the colon glued to the key and then a blank; words in their own case."""
    for match in _PAIR.finditer(source.text):
        key = match[1] if match[1] in SETTINGS else _same(match[1], SETTINGS)
        if key is None:
            continue
        value = _setting(key, match[3])
        if (key, value) != (match[1], match[3]) or not re.fullmatch(r":[ \t]+", match[2]):
            yield Edit(match.start(), match.end(), f"{key}: {value}")


def _setting(key: str, value: str) -> str:
    """A value as its key takes it, the value itself where there is no one answer."""
    setting = SETTINGS[key]
    if setting.value(value) is not None and setting.advice(value) is None:
        return value
    if key in _lists():
        words = [word for word in re.split(r"[_,;\[\]\"]+", value) if word]
        schema = load("system")
        mender = Mender(schema, ALGORITHMS)
        mended = "_".join(str(mender.text(word, schema["$defs"]["algorithms"]["items"])) for word in words)
    elif value in {"true", "false"}:
        mended = str(int(value == "true"))
    elif re.fullmatch(r"\d{1,15}\.0*", value, re.ASCII):
        mended = value.partition(".")[0]
    else:
        mended = _same(value, setting.takes.split("`")[1::2]) or value
    return mended if setting.value(mended) is not None else value


def _workload_1(source: Source) -> Iterator[Edit]:
    """The policies and the words for communication in capitals; numbers without a fraction."""
    policies = [policy.value for policy in Policy]
    first = _COLUMN.search(source.text)
    if first is not None and (policy := _same(first[0], policies)) is not None:
        yield Edit(*first.span(), policy)
    for line in re.finditer(r"[^\r\n]+", source.text):
        columns = list(_COLUMN.finditer(source.text, *line.span()))
        if len(columns) not in {12, 13}:
            continue
        for at, column in enumerate(columns[2:], 2):
            mended = None
            if at in {3, 6, 9, 12}:
                mended = _same(column[0], policies if at == 12 else WORDS)
            elif re.fullmatch(r"\d{1,18}\.0+", column[0], re.ASCII):
                mended = column[0].partition(".")[0]
            if mended is not None:
                yield Edit(*column.span(), mended)
