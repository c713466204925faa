"""The input files of ASTRA-sim 1.0, by the word for `--kind`."""

from __future__ import annotations

import re

from astrac.job import IMPLEMENTED
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.job import WORDS, Policy
from astrac.simulators.rows import FileKind
from astrac.simulators.texts import has, is_object

_SYSTEM_KEYS = (
    "scheduling-policy",
    "collective-optimization",
    "preferred-dataset-splits",
    *(keys.IMPLEMENTATION_KEYS[kind] for kind in IMPLEMENTED),
    "endpoint-delay",
    "active-chunks-per-dimension",
    "boost-mode",
)
_SETTING = re.compile(rf"(?:^|\s)(?:{'|'.join(_SYSTEM_KEYS)})\s*:")
_POLICIES = {policy.value for policy in Policy}
_COLUMNS = {"NONE", *WORDS.values()}


def _is_system(text: str, _name: str) -> bool:
    if is_object(text):
        return False
    words = [line.split()[0] for line in text.splitlines()[:50] if line.strip() and line.lstrip()[0] not in "#/"][:1]
    return bool(words) and re.fullmatch(r"[\w-]+:?.*", words[0]) is not None and len(_SETTING.findall(text)) > 1


def _is_workload(text: str, _name: str) -> bool:
    first = text[:200].split(None, 1)[:1]
    if bool(first) and first[0].upper() in _POLICIES:
        return True
    rows = (line.split() for line in text[:4000].splitlines())
    return any(len(row) in {12, 13} and {row[3].upper(), row[6].upper(), row[9].upper()} <= _COLUMNS for row in rows)


KINDS: dict[str, FileKind] = {
    "network-1": FileKind(
        "network.json of ASTRA-sim 1.0",
        has("topology-name", "dimensions-count", *keys.DIMENSION_KEYS, least=2),
        called="network file",
        option="--network-configuration",
        name=keys.NETWORK,
        role="network",
        mark=False,
    ),
    "system-1": FileKind(
        "system.txt of ASTRA-sim 1.0",
        _is_system,
        called="system file",
        option="--system-configuration",
        name=keys.SYSTEM,
        role="system",
        mark=False,
    ),
    "workload-1": FileKind(
        "a text workload of ASTRA-sim 1.0",
        _is_workload,
        4 << 20,
        called="workload",
        option="--workload-configuration",
        name=keys.WORKLOAD,
        role="workload",
        mark=False,
    ),
}
