"""Options and what several test modules share."""

import gc
import json
from functools import _lru_cache_wrapper
from pathlib import Path

import hypothesis
import pytest

from astrac import resources

TESTS = Path(__file__).parent
SLOW = frozenset((TESTS / "slow.txt").read_text().split())
"""Test functions and files that together take longer than all others; `pytest -m quick` leaves them out."""

hypothesis.settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000)
hypothesis.settings.load_profile("steady")  # no test hangs on load or luck; --hypothesis-profile=explore looks further


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the goldens; read the difference afterwards")


def pytest_collection_modifyitems(items):
    """Marks every test that is not in the list as quick; a name in the list that its file no longer has is an error."""
    found = {}
    for item in items:
        file = item.path.relative_to(TESTS).as_posix()
        found.setdefault(file, set()).add(f"{file}::{item.originalname}")
        if not {file, f"{file}::{item.originalname}"} & SLOW:
            item.add_marker("quick")
    named = frozenset().union(*found.values())
    gone = [name for name in SLOW - named if "::" in name and name.partition("::")[0] in found]
    if gone and not any("::" in argument for argument in items[0].config.args):
        raise pytest.UsageError(f"slow.txt names tests that are gone: {', '.join(sorted(gone))}")


@pytest.fixture
def golden(request):
    """Compares texts with the files of a folder, or rewrites the folder with --update-golden."""

    def compare(folder, texts):
        if request.config.getoption("--update-golden"):
            folder.mkdir(parents=True, exist_ok=True)
            for stale in set(folder.iterdir()) - {folder / name for name in texts}:
                stale.unlink()
            for name, text in texts.items():
                (folder / name).write_text(text, encoding="utf-8", newline="\n")
        assert {path.name for path in folder.glob("*")} == set(texts)
        for name, text in texts.items():
            assert (folder / name).read_text(encoding="utf-8") == text, f"{folder.name}/{name}"

    return compare


def _forget():
    """Empties every cache of the compiler: what was read from a schema is read anew."""
    for found in gc.get_objects():
        if isinstance(found, _lru_cache_wrapper) and found.__module__.startswith("astrac."):
            found.cache_clear()


@pytest.fixture
def edit_schemas(monkeypatch):
    """A function of edits: file below `schemas/` -> what to do to its document."""
    read = resources.text.__wrapped__

    def apply(edits):
        def text(*parts):
            found = read(*parts)
            edit = edits.get("/".join(parts[1:])) if parts[0] == "schemas" else None
            if edit is None:
                return found
            document = json.loads(found)
            edit(document)
            return json.dumps(document)

        monkeypatch.setattr(resources, "text", text)
        _forget()

    yield apply
    monkeypatch.undo()
    _forget()
