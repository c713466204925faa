"""The wheel is whole: built, and run as a zip file from another folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (found,) = folder.glob("*.whl")
    return found


def run(wheel, folder, *arguments):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PYTHONPATH": str(wheel)}
    code = "import astrac, sys; from astrac.cli import main; print(astrac.__file__); sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_builds_a_bundle_from_another_folder(wheel, tmp_path):
    (tmp_path / "spec.astra").write_text((ROOT / "specs" / "resnet50_ring.astra").read_text())
    done = run(wheel, tmp_path, "build", "spec.astra", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert str(wheel) in done.stdout.splitlines()[0]
    assert (tmp_path / "out" / "manifest.json").exists()


def test_it_explains_and_checks(wheel, tmp_path):
    assert run(wheel, tmp_path, "explain", "--list").returncode == 0
    (tmp_path / "empty.astra").write_text("")
    assert run(wheel, tmp_path, "check", "empty.astra").returncode == 1
