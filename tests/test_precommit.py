"""The hooks with the real pre-commit: in a scratch repository, and the entries of our own configuration."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
PACKAGE = (
    "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "compiler", "grammar", "schemas", "templates",
    "specs",
)  # fmt: skip
HOOKS = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())

SPEC = (ROOT / "specs" / "allreduce_ring8.astra").read_text()
NETWORK = "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def run(folder, *command, **more):
    environment = os.environ | more | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for name in [name for name in environment if name.startswith("GIT_") and "CONFIG" not in name]:
        environment.pop(name)  # the test may itself run below a hook
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def git(folder, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    status, output = run(folder, "git", *identity, *arguments)
    assert status == 0, output


@pytest.fixture(scope="module")
def hooks(tmp_path_factory):
    """The package as a repository that pre-commit can clone."""
    folder = tmp_path_factory.mktemp("hooks")
    ignored = shutil.ignore_patterns("__pycache__", ".*cache")
    for name in PACKAGE:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "hooks")
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """What pre-commit keeps: the environment of our hooks, made by the first commit of any test."""
    return str(tmp_path_factory.mktemp("home"))


@pytest.fixture
def scratch(tmp_path, hooks, home):
    """A repository of the test's own with all hooks installed, and a function that commits files there."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    git(folder, "init", "-q")
    _, revision = run(hooks, "git", "rev-parse", "HEAD")
    ids = "\n".join(f"      - id: {hook['id']}" for hook in HOOKS)
    config = f"repos:\n  - repo: {hooks}\n    rev: {revision.strip()}\n    hooks:\n{ids}\n"
    (folder / ".pre-commit-config.yaml").write_text(config)
    status, output = run(folder, sys.executable, "-m", "pre_commit", "install", PRE_COMMIT_HOME=home)
    assert status == 0, output

    def commit(**files):
        for name, content in files.items():
            path = folder / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        git(folder, "add", "-A")
        status, output = run(
            folder, "git", "-c", "user.name=t", "-c", "user.email=t@e.org", "commit", "-m", "x", PRE_COMMIT_HOME=home
        )
        if status:
            git(folder, "reset", "-q", "--hard", *(["HEAD"] if (folder / ".git/refs/heads/main").exists() else []))
        return status, output

    commit.folder = folder
    return commit


def test_commits_pass_and_fail(scratch):
    status, output = scratch(good_dot_astra=SPEC, network_dot_yml=NETWORK, notes_dot_txt="nothing of ours\n")
    assert status == 0, output
    assert output.count("Passed") == 4

    status, output = scratch(bad_dot_astra=SPEC.replace("GB/s", "gb/s"))
    assert status == 1
    assert "error[AS301]: unknown unit `gb/s`" in output
    assert "bad.astra:" in output

    status, output = scratch(network_dot_yml=NETWORK.replace("[ 8 ]", "[ 8.0 ]"))
    assert status == 1
    assert "network.yml:2:15" in output
    assert "`npus_count`, entry 1 must be a whole number, not `8.0`" in output

    status, output = scratch(good_dot_astra=SPEC.replace("size: 8,", "size:8,"))
    assert status == 1
    assert "files were modified by this hook" in output
    assert "good.astra formatted" in output


def test_a_stale_bundle(scratch):
    folder = scratch.folder
    (folder / "good.astra").write_text(SPEC)
    astrac = [sys.executable, "-m", "astrac"]
    status, output = run(folder, *astrac, "build", "good.astra", "-o", "bundle", "--copy")
    assert status == 0, output
    status, output = scratch()
    assert status == 0, output

    status, output = scratch(good_dot_astra=SPEC.replace("1 GiB", "2 GiB"))
    assert status == 1
    assert "compare bundles with their specs" in output
    assert "error[AS787]: `astra-sim-2/workload/model.0.et` is not what the spec gives, and so 7 others" in output
    assert "build it again: `astrac build good.astra -o bundle`" in output


def test_our_own_configuration_has_the_same_entries():
    config = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text())
    ours = {hook["id"]: hook for repository in config["repos"] for hook in repository["hooks"]}
    assert ours.keys() == {hook["id"] for hook in HOOKS}
    for hook in HOOKS:
        assert {key: ours[hook["id"]][key] for key in ("name", "entry", "files")} == {
            key: hook[key] for key in ("name", "entry", "files")
        }
        assert "types" not in hook
        assert "types_or" not in hook


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout")
def test_our_own_files_pass_our_own_hooks():
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    status, output = run(ROOT, sys.executable, "-m", "pre_commit", "run", "--all-files", PATH=path)
    assert status == 0, output
