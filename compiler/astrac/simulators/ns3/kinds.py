"""The input files of ASTRA-sim's ns-3 backend that the analytical backends do not have, by the word for `--kind`."""

from __future__ import annotations

import re

from astrac.simulators.rows import FileKind
from astrac.simulators.texts import has

OLD_KEY = "physical-dims"
"""What a branch of ASTRA-sim once wrote for `logical-dims`."""

_SETTING = re.compile(
    r"^[ \t]*(?:TOPOLOGY_FILE|PACKET_PAYLOAD_SIZE|CC_MODE|KMAX_MAP|SIMULATOR_STOP_TIME)\s", re.MULTILINE
)
_COUNTS = re.compile(r"\s*(?:[#/][^\n]*\n\s*)*\S+[ \t]+\d+[ \t]+\d+[ \t]*[\r\n]")
_LINK = re.compile(
    r"^[ \t]*\d+[ \t]+\d+[ \t]+(?:\S.*[ \t][\d.]+[mun]?s|[\d.]+[A-Za-z/]*bps)\b", re.MULTILINE | re.IGNORECASE
)


def _is_topology(text: str, _name: str) -> bool:
    return _COUNTS.match(text) is not None and _LINK.search(text) is not None


def _is_config(text: str, _name: str) -> bool:
    return len(_SETTING.findall(text)) > 1


KINDS: dict[str, FileKind] = {
    "ns3-logical": FileKind("the logical topology of the ns-3 backend", has("logical-dims", OLD_KEY)),
    "ns3-topology": FileKind("the physical topology of the ns-3 backend", _is_topology, 4 << 20),
    "ns3-config": FileKind("the configuration of the ns-3 backend", _is_config, name="config.txt"),
}
