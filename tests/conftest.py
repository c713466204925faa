"""Options and what several test modules share."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="rewrite the goldens; read the difference afterwards")


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
