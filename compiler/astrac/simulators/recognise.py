"""What a file is, told from what is in it: ASTRA-sim's files have no names of their own.

Texts are looked at, not parsed: a file that is broken must still be known for what it is, so that its error is told.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_1 import keys as keys_1
from astrac.simulators.astra_sim_1.job import WORDS, Policy
from astrac.simulators.astra_sim_2 import keys

if TYPE_CHECKING:
    from collections.abc import Callable


class Kind(NamedTuple):
    """A row of KINDS.

    Attributes:
        title: for people.
        belongs: whether a text, with the lower-case name of its file, is one.
        limit: bytes beyond which it is something else; the readers' time and memory follow from it.
    """

    title: str
    belongs: Callable[[str, str], bool]
    limit: int = 256 << 10


SUFFIXES = (".yml", ".yaml", ".json", ".txt", ".cfg", ".conf", ".config", ".topo")
"""Of texts that may be inputs; a name without a dot may be one too."""


def recognise(name: str, data: bytes) -> str | None:
    """The word of KINDS for a file, None when it is none of them.

    Args:
        name: of the file; only its end counts.
        data: the bytes, or the first megabytes of them.
    """
    if name.endswith(".astra"):
        return "spec"
    if name.endswith(".et") or _TRACE.match(data):
        return "trace"
    if name.rpartition("/")[2].rpartition(".")[1] and not name.lower().endswith(SUFFIXES):
        return None  # a program or a page that shows such a file is none
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return next((word for word, kind in KINDS.items() if kind.belongs(text, name.rpartition("/")[2].lower())), None)


_TRACE = re.compile(rb".{1,2}\x0a.[0-9]+\.[0-9]+\.[0-9]+", re.DOTALL)


_COMMENTS = re.compile(r"(?:\s|//[^\n]*|#[^\n]*)*")


def _object(text: str) -> bool:
    """Whether a text is meant to be JSON: comments before the brace are what is wrong with it."""
    start = _COMMENTS.match(text)
    return start is not None and text[start.end() : start.end() + 1] == "{"


def _has(*names: str, least: int = 1) -> Callable[[str, str], bool]:
    """Whether a JSON object has some of these keys at its top; of one that is broken, anywhere."""
    pattern = re.compile(rf'"({"|".join(names)})"\s*:')

    def belongs(text: str, _name: str) -> bool:
        if not _object(text):
            return False
        document = _document(text)
        keys_found = set(pattern.findall(text)) if document is None else set(names).intersection(document)
        return len(keys_found) >= least

    return belongs


def _document(text: str) -> dict[str, object] | None:
    """An object, None when the text is broken."""
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError):
        return None


_IMPLEMENTATIONS = tuple(keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED)
_OF_SYSTEMS = ("scheduling-policy", "collective-optimization", "preferred-dataset-splits", *_IMPLEMENTATIONS)
_SYSTEM = (*_OF_SYSTEMS, *(f"{key}-custom" for key in _IMPLEMENTATIONS), "per-node-custom-implementation")
_NETWORK = ("topology", "npus_count", "bandwidth", "latency")
_NETWORK_1 = ("topology-name", "dimensions-count", *keys_1.DIMENSION_KEYS)

_SYSTEM_1 = re.compile(
    rf"(?:^|\s)(?:{'|'.join(_OF_SYSTEMS)}|endpoint-delay|active-chunks-per-dimension|boost-mode)\s*:"
)
_CONFIG = re.compile(
    r"^[ \t]*(?:TOPOLOGY_FILE|PACKET_PAYLOAD_SIZE|CC_MODE|KMAX_MAP|SIMULATOR_STOP_TIME)\s", re.MULTILINE
)
_COUNTS = re.compile(r"\s*\d+[ \t]+\d+[ \t]+\d+[ \t]*[\r\n]")
_LINK = re.compile(r"^[ \t]*\d+[ \t]+\d+[ \t]+[\d.]+[A-Za-z/]*bps\b", re.MULTILINE | re.IGNORECASE)
_GROUP_ID = re.compile(r"-?\d+", re.ASCII)
_TABLE = re.compile(r"[ \t]*(?:-?\d+[ \t]*:[ \t]+[^\s:]+[ \t]*)?(?:#.*)?")
_SETTING = re.compile(r"""["']?([A-Za-z_][\w-]*)["']?[ \t]*:""")
_POLICIES = {policy.value for policy in Policy}
_COLUMNS = {"NONE", *WORDS.values()}


def _settings(text: str) -> list[str]:
    """Keys at the left of a YAML text; none when it has lines there that are something else."""
    found = []
    for line in text.splitlines():
        if line[:1] in {"", " ", "\t", "#", "-", "]", "}"}:
            continue
        match = _SETTING.match(line)
        if match is None:
            return []
        found.append(match[1])
    return found


def _is_network(text: str, name: str) -> bool:
    if _object(text):
        return _has(*_NETWORK, least=2)(text, name)
    if len(text) > 1 << 18:
        return False
    found = set(_settings(text))
    return (
        "npus_count" in found
        or (bool(found) and found <= set(_NETWORK))
        or len(found & set(_NETWORK)) > 2
        or len(found & set(_NETWORK_1)) > 1
    )


def _is_system_1(text: str, _name: str) -> bool:
    if _object(text):
        return False
    words = [line.split()[0] for line in text.splitlines()[:50] if line.strip() and line.lstrip()[0] not in "#/"][:1]
    return bool(words) and re.fullmatch(r"[\w-]+:?.*", words[0]) is not None and len(_SYSTEM_1.findall(text)) > 1


def _is_groups(text: str, name: str) -> bool:
    """Lists by group id; a file with `group` in its name may have other keys, which is what is wrong with it."""
    if not _object(text):
        return False
    document = _document(text)
    if document is None:
        return "group" in name and re.match(r'\s*\{\s*"[^"]{0,40}"\s*:\s*\[\s*\d', text) is not None
    return (
        bool(document)
        and all(isinstance(value, list) and all(type(item) is int for item in value) for value in document.values())
        and ("group" in name or all(map(_GROUP_ID.fullmatch, document)))
    )


def _is_workload(text: str, _name: str) -> bool:
    first = text[:200].split(None, 1)[:1]
    if bool(first) and first[0].upper() in _POLICIES:
        return True
    rows = (line.split() for line in text[:4000].splitlines())
    return any(len(row) in {12, 13} and {row[3].upper(), row[6].upper(), row[9].upper()} <= _COLUMNS for row in rows)


def _is_table(text: str, _name: str) -> bool:
    """A node's number and a path, line by line."""
    lines = text.splitlines() if len(text) < 1 << 18 else []
    return any(line.lstrip("-")[:1].isdigit() for line in lines) and all(map(_TABLE.fullmatch, lines))


KINDS: dict[str, Kind] = {
    "spec": Kind("a spec", lambda _text, _name: False),
    "trace": Kind("a Chakra trace", lambda _text, _name: False, 256 << 20),
    "network": Kind("network.yml of ASTRA-sim 2.x", _is_network),
    "network-1": Kind("network.json of ASTRA-sim 1.0", _has(*_NETWORK_1, least=2)),
    "system": Kind("system.json of ASTRA-sim 2.x", _has(*_SYSTEM)),
    "system-1": Kind("system.txt of ASTRA-sim 1.0", _is_system_1),
    "memory": Kind("memory.json of ASTRA-sim 2.x", _has("memory-type", "remote-mem-bw", "remote-mem-latency")),
    "ns3-logical": Kind("the logical topology of the ns-3 backend", _has("logical-dims")),
    "ns3-topology": Kind(
        "the physical topology of the ns-3 backend",
        lambda text, _: _COUNTS.match(text) is not None and _LINK.search(text) is not None,
        4 << 20,
    ),
    "ns3-config": Kind("the configuration of the ns-3 backend", lambda text, _: len(_CONFIG.findall(text)) > 1),
    "workload-1": Kind("a text workload of ASTRA-sim 1.0", _is_workload, 4 << 20),
    "groups": Kind("communicator groups of ASTRA-sim 2.x", _is_groups, 4 << 20),
    "custom-table": Kind("a table of custom collectives by node", _is_table),
}
"""Kinds of files, by the word for `--kind`; the first that a file belongs to is its kind."""
