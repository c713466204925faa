"""The input files of ASTRA-sim 2.x, by the word for `--kind`."""

from __future__ import annotations

import json
import re

from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_2 import keys
from astrac.simulators.rows import FileKind
from astrac.simulators.table import rivals
from astrac.simulators.texts import document, has, is_object

_IMPLEMENTATIONS = tuple(keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED)
_SYSTEM = (
    "scheduling-policy",
    "collective-optimization",
    "preferred-dataset-splits",
    *_IMPLEMENTATIONS,
    *(f"{key}-custom" for key in _IMPLEMENTATIONS),
    "per-node-custom-implementation",
)
_NETWORK = {"topology", "npus_count", "bandwidth", "latency"}
_TRACE = re.compile(rb".{1,2}\x0a.[0-9]+\.[0-9]+\.[0-9]+", re.DOTALL)
"""The length of the first message, and in it the version of the schema."""

_SETTING = re.compile(r"""["']?([A-Za-z_][\w-]*)["']?[ \t]*:""")
_GROUP_ID = re.compile(r"-?\d+", re.ASCII)
_TABLE = re.compile(r"[ \t]*(?:-?\d+[ \t]*:[ \t]+[^\s:]+[ \t]*)?(?:#.*)?")


def _settings(text: str) -> set[str]:
    """Keys at the left of a YAML text; none when it has lines there that are something else."""
    found = set()
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in "#%" and line[:3] != "..."]
    left = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    inside = 0  # brackets that are open
    for line in lines:
        if not inside and line[left] not in " \t-]}":
            match = _SETTING.match(line, left)
            if match is None:
                return set()
            found.add(match[1])
        inside += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
    return found


def _is_network(text: str, name: str) -> bool:
    if is_object(text):
        return has(*_NETWORK, least=2)(text, name) or (
            document(text) is None and len(_NETWORK.intersection(_SETTING.findall(text))) > 1
        )
    if len(text) > 1 << 18:
        return False
    found = _settings(text)
    return (
        "npus_count" in found
        or (bool(found) and found <= _NETWORK)
        or len(found & _NETWORK) > 2
        or any(row.belongs(json.dumps(dict.fromkeys(found)), name) for row in rivals("network"))
    )


def _is_groups(text: str, name: str) -> bool:
    """Lists by group id; a file with `group` in its name may have other keys, which is what is wrong with it."""
    if not is_object(text):
        return False
    value = document(text)
    if value is None:
        return "group" in name and re.match(r'\s*\{\s*"[^"]{0,40}"\s*:\s*\[\s*\d', text) is not None
    return (
        bool(value)
        and all(isinstance(entry, list) and all(type(item) is int for item in entry) for entry in value.values())
        and ("group" in name or all(map(_GROUP_ID.fullmatch, value)))
    )


def _is_table(text: str, _name: str) -> bool:
    """A node's number and a path, line by line."""
    lines = text.splitlines() if len(text) < 1 << 18 else []
    return any(line.lstrip("-")[:1].isdigit() for line in lines) and all(map(_TABLE.fullmatch, lines))


KINDS: dict[str, FileKind] = {
    "trace": FileKind(
        "a Chakra trace",
        lambda _text, _name: False,
        256 << 20,
        called="traces (`NAME.0.et`, `NAME.1.et`, ...)",
        option=keys.OPTIONS["workload"],
        suffix=".et",
        signature=_TRACE,
    ),
    "network": FileKind(
        "network.yml of ASTRA-sim 2.x",
        _is_network,
        called="network file",
        option=keys.OPTIONS["network"],
        name=keys.NETWORK,
        role="network",
    ),
    "system": FileKind(
        "system.json of ASTRA-sim 2.x",
        has(*_SYSTEM),
        called="system file",
        option=keys.OPTIONS["system"],
        name=keys.SYSTEM,
        role="system",
    ),
    "memory": FileKind(
        "memory.json of ASTRA-sim 2.x",
        has("memory-type", "remote-mem-bw", "remote-mem-latency"),
        called="memory file",
        option=keys.OPTIONS["memory"],
        name=keys.MEMORY,
    ),
    "groups": FileKind(
        "communicator groups of ASTRA-sim 2.x",
        _is_groups,
        4 << 20,
        called="group file",
        option=keys.OPTIONS["groups"],
        name=keys.GROUPS,
        last=True,
    ),
    "custom-table": FileKind("a table of custom collectives by node", _is_table, last=True),
}
