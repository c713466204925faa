"""GUARD.md is true: what it shows is printed, its hooks and options exist, its kinds are all there are."""

import re
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from astrac import cli
from astrac.simulators.table import backends, words

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "GUARD.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
HOOKS = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())

SHOWN = """\
topology: [ ring, Switch ]  # two boxes
npus_count: [ 8.0, 2 ]
bandwidth: [ 300.0, 25.0 ]
latency: [ 500, 1000 ]
"""


def test_what_is_shown_is_printed(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("network.yml").write_text(SHOWN)
    assert cli.main(["check", "network.yml"]) == 1
    shown = PAGE.partition("$ astrac check network.yml\n")[2].partition("\nErrors end with")[0]
    assert capsys.readouterr().out == re.sub(r"^    ", "", shown, flags=re.MULTILINE)


def test_hooks_are_all_there():
    documents = [YAML(typ="safe").load(block) for block in BLOCKS]
    whole, folder = documents[0]["repos"][0]["hooks"], documents[1]
    assert [hook["id"] for hook in whole] == [hook["id"] for hook in HOOKS]
    assert [hook["id"] for hook in folder] == ["astra-inputs"]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """What the examples for CI are about."""
    for name in ("specs", "inputs"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "specs" / "allreduce_ring8.astra", tmp_path / "specs")
    (tmp_path / "inputs" / "network.yml").write_text(SHOWN.replace("ring", "Ring").replace("8.0", "8"))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["build", "specs/allreduce_ring8.astra", "-o", "bundles/ring8"]) == 0
    return tmp_path


COMMANDS = [*sorted(set(re.findall(r"- (?:run: )?(astrac .*)", PAGE))), "astrac check --inputs inputs"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_pass_and_fail(command, capsys, repository):
    arguments = []
    for word in command.partition(" > ")[0].split()[1:]:
        arguments += sorted(map(str, Path().glob(word))) if "*" in word else [word]
    assert cli.main(arguments) == 0
    (repository / "inputs" / "network.yml").write_text(SHOWN)
    (repository / "bundles" / "ring8" / "astra-sim-2" / "network.yml").write_text(SHOWN)
    capsys.readouterr()
    assert cli.main(arguments) == 1
    assert "network.yml" in capsys.readouterr().out


def test_kinds_and_backends_are_all_there():
    table = PAGE[PAGE.index("| kind | |") : PAGE.index("A folder is checked")]
    named = re.findall(r"`([^`]+)`", table)
    assert sorted(set(named) - {"per-node-custom-implementation"}) == sorted(words())
    assert all(f"`{backend}`" in PAGE for backend in backends()[::2])


def test_schemas_have_ids_of_their_own():
    schemas = sorted((ROOT / "schemas" / "artifacts").glob("*.schema.json"))
    for path in schemas:
        assert f'"$id": "https://astrac.dev/schemas/artifacts/{path.name}"' in path.read_text()
