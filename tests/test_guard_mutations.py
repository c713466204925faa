"""No file whatever ends in a traceback, or takes long: inputs that are fine, with something torn out or put in."""

import json
import random
import time

import pytest

import guard_inputs
from astrac.api import converting, guarding
from astrac.render import FORMATS, render
from simulator_1 import INPUTS
from test_guard_files import CONFIG, LOGICAL, SYSTEM, TOPOLOGY
from test_guard_traps import ROWS

PIECES = [
    b"-1",
    b"0",
    b"1e9",
    b"null",
    b"true",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"\n",
    b"9" * 20,
    b"NaN",
    b"\xff",
]
PIECES += [b"\0", b"ring", b"oneRing", b'"x"', b" ", b"#", b"1.5", b"[]", b"{}", b"&a", b"*a", b"!!x", b"- "]


def mutated(data, random):
    """A few bytes torn out, put in, doubled or changed."""
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(data) + 1)
        match random.randrange(4):
            case 0:
                data[at:at] = random.choice(PIECES)
            case 1:
                del data[at : at + random.randrange(1, 9)]
            case 2:
                data[at : at + random.randrange(1, 6)] = random.choice(PIECES)
            case _:
                other = random.randrange(len(data) + 1)
                data[at:at] = data[min(at, other) : max(at, other)][:200]
    return bytes(data)


def family_of_ns3(folder, _random):
    row = {"network": "topology: [ Ring ]\n", "traces": [[{"id": 0, "type": "COMP", "duration": 5}]], "ranks": [(0, 4)]}
    guard_inputs.write(row, folder)
    (folder / "network.yml").unlink()
    texts = {"logical.json": LOGICAL, "topology.txt": TOPOLOGY, "config.txt": CONFIG, "system.json": SYSTEM}
    for name, text in (texts | {"table.yml": "0: w\n3: x/y\n"}).items():
        (folder / name).write_text(text)


def family_of_1(folder, random):
    folder.mkdir()
    for kind, name in (("network", "network.json"), ("system", "system.txt"), ("workload", "workload.txt")):
        text = random.choice(list(INPUTS[kind].values()))
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))


def family_of_2(folder, random):
    guard_inputs.write(random.choice(ROWS), folder)


@pytest.mark.parametrize("family", [family_of_1, family_of_2, family_of_ns3])
def test_torn_files_get_diagnostics(tmp_path, family):
    random_ = random.Random(family.__name__)
    for number in range(60):
        folder = tmp_path / str(number)
        family(folder, random_)
        files = sorted(path for path in folder.iterdir() if path.is_file())
        torn = random_.choice(files)
        data = mutated(torn.read_bytes(), random_)
        torn.unlink()  # it may have hard links
        torn.write_bytes(data)
        start = time.process_time()
        found = guarding.check(str(folder), None, None).diagnostics
        found += guarding.check(str(torn), None, None).diagnostics
        for form in FORMATS:
            render(found, form)
        mended = converting.mend(str(torn)).value
        assert mended is None or mended.difference is not None
        converting.import_bundle(str(folder))
        assert time.process_time() - start < 20
