"""The table of simulators: what a row promises, its package has; and nothing outside knows a simulator by its name."""

import ast
import inspect
import sys
import types
from pathlib import Path

import pytest

from astrac.bundle import text_artifact
from astrac.cli import main
from astrac.diagnostics import Result, diagnostic
from astrac.simulators import table
from astrac.simulators.protocol import Ability, Simulator, Wing

ROOT = Path(__file__).parents[1]
SPEC = (ROOT / "specs" / "allreduce_ring8.astra").read_bytes()

ALWAYS = ("check_file", "check_set", "fix", "set_apart")
NEEDED = {
    Ability.BUILD: ("can_say", "lower", "write", "command", "describe"),
    Ability.SIMULATE: ("read", "of_arguments", "judge", "simulate"),
    Ability.CONVERT: ("read", "differences", "to_spec"),
}
BINARY = ("decode", "encode")


def lacking(simulator):
    """What a row promises and its package does not have, in words for whoever adds one."""
    names = list(ALWAYS)
    for ability, functions in NEEDED.items():
        names += functions if simulator.can(ability) else ()
    names += BINARY if any(not kind.is_text for kind in simulator.kinds.values()) else ()
    for name in dict.fromkeys(names):
        function = getattr(simulator.wing, name, None)
        if function is None:
            yield f"{simulator.package}.simulator has no `{name}`, which the abilities of its row promise"
            continue
        wanted = [word for word in inspect.signature(getattr(Wing, name)).parameters if word != "self"]
        found = [word.lstrip("_") for word in inspect.signature(function).parameters]
        if found != wanted:
            yield f"{simulator.package}.simulator.{name} takes ({', '.join(found)}), not ({', '.join(wanted)})"
    if simulator.reads != tuple(simulator.kinds):
        yield f"`reads` of `{simulator.name}` is not what {simulator.package}.kinds.KINDS has: {tuple(simulator.kinds)}"
    known = {word for row in table.SIMULATORS for word in row.reads} | set(simulator.reads)
    for word in (*simulator.needs, *simulator.takes):
        if word not in known:
            yield f"`{simulator.name}` needs or takes `{word}`, a kind that no row reads"
    if simulator.can(Ability.BUILD) and not simulator.variable:
        yield f"`{simulator.name}` builds bundles, and no variable names its binary to run.sh"


@pytest.mark.parametrize("simulator", table.SIMULATORS, ids=lambda simulator: simulator.name)
def test_a_row_is_whole(simulator):
    assert list(lacking(simulator)) == []


def test_words_are_unique():
    assert len(set(table.words())) == len(table.words())
    assert len({simulator.name for simulator in table.SIMULATORS}) == len(table.SIMULATORS)


# -- nobody else knows a simulator by its name


def test_no_module_outside_names_a_simulator():
    names = {simulator.name for simulator in table.SIMULATORS}
    folders = {simulator.package.rpartition(".")[2] for simulator in table.SIMULATORS}
    outside = [path for path in (ROOT / "compiler" / "astrac").rglob("*.py") if "simulators" not in path.parts]
    assert [
        f"{path.name}:{node.lineno} names `{node.value}`"
        for path in outside
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names | folders
    ] == []


def test_every_simulator_by_another_name(monkeypatch, tmp_path, capsys):
    """Check, build, estimate, diff, import work whatever the simulators are called."""
    renamed = tuple(row._replace(name=f"other-{row.name}") for row in table.SIMULATORS)
    monkeypatch.setattr(table, "SIMULATORS", renamed)
    (tmp_path / "a.astra").write_bytes(SPEC)
    out = tmp_path / "out"
    assert main(["check", str(tmp_path / "a.astra")]) == 0
    assert main(["build", str(tmp_path / "a.astra"), "-o", str(out)]) == 0
    printed = capsys.readouterr().out
    built = {path.name for path in out.iterdir() if path.is_dir()}
    assert built <= {row.name for row in renamed}
    assert built
    assert all(f"{out}/{name}/run.sh" in printed for name in built)
    assert main(["check", str(out)]) == 0
    assert main(["estimate", str(out)]) == 0
    from_files = capsys.readouterr().out
    assert main(["estimate", str(tmp_path / "a.astra")]) == 0
    cycles = [line for line in capsys.readouterr().out.splitlines() if "cycles" in line]
    assert cycles
    assert cycles[0] in from_files
    assert main(["diff", str(out), str(out)]) == 0
    assert main(["import", str(out), "-o", str(tmp_path / "b.astra")]) == 0
    assert main(["check", str(tmp_path / "b.astra")]) == 0
    for row in renamed:
        if row.can(Ability.BUILD):
            only = tmp_path / row.name
            assert main(["build", str(tmp_path / "a.astra"), "-o", str(only), "--target", row.name]) == 0
            assert {path.name for path in only.iterdir() if path.is_dir()} == {row.name}


# -- what a contributor adds


@pytest.fixture
def counter(monkeypatch):
    """A simulator of somebody's: it wants to know how many nodes a job has, in one file, and knows no pipelines."""

    def can_say(plan, near):
        if plan.degree("pipeline") > 1:
            return (diagnostic("AS716", "`counter` has no pipelines", near("/parallelism/pipeline")),)
        return ()

    def lower(plan, near):
        found = can_say(plan, near)
        return Result(None if found else len(plan.programs[0].steps), found)

    wing = types.ModuleType("counter.simulator")
    wing.can_say = can_say
    wing.lower = lower
    wing.write = lambda job, cycles: (text_artifact("count.txt", f"{job}\n"),)  # noqa: ARG005
    wing.command = lambda job: (f"--count={job}",)
    wing.describe = lambda job: None  # noqa: ARG005
    wing.check_file = lambda kind, source, data, backend: ()  # noqa: ARG005
    wing.check_set = lambda found, backend: iter(())  # noqa: ARG005
    wing.fix = lambda kind, source, beside: iter(())  # noqa: ARG005
    wing.set_apart = lambda files: None  # noqa: ARG005
    kinds = types.ModuleType("counter.kinds")
    kinds.KINDS = {}
    for module in (types.ModuleType("counter"), wing, kinds):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    row = Simulator(
        "counter", "Counter", "counter", reads=(), needs=(), abilities=frozenset({Ability.BUILD}), variable="COUNTER"
    )
    monkeypatch.setattr(table, "SIMULATORS", (*table.SIMULATORS, row))
    return row


def test_a_target_that_writes_one_file(counter, tmp_path, capsys):
    assert list(lacking(counter)) == []
    spec = tmp_path / "a.astra"
    spec.write_bytes(SPEC)
    assert main(["build", str(spec), "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "counter" / "count.txt").read_text() == "1\n"
    assert "COUNTER=PATH_OF_COUNTER" in capsys.readouterr().out
    assert main(["build", str(spec), "-o", str(tmp_path / "only"), "--target", "counter"]) == 0
    assert sorted(path.name for path in (tmp_path / "only").iterdir()) == ["counter", "estimate.json", "manifest.json"]
    assert main(["check", str(tmp_path / "out")]) == 0


def test_a_target_that_cannot_say_a_plan(counter, tmp_path, capsys):
    del counter
    spec = str(ROOT / "specs" / "resnet50_pipeline.astra")
    assert main(["build", spec, "-o", str(tmp_path / "all")]) == 0
    assert not (tmp_path / "all" / "counter").exists()
    capsys.readouterr()
    assert main(["build", spec, "-o", str(tmp_path / "only"), "--target", "counter"]) == 1
    assert "error[AS716]: `counter` has no pipelines" in capsys.readouterr().err
    assert not (tmp_path / "only").exists()


@pytest.mark.parametrize("name", ["lower", "write", "command", "check_set"])
def test_a_part_that_is_forgotten_is_named(counter, name):
    delattr(counter.wing, name)
    assert list(lacking(counter)) == [
        f"counter.simulator has no `{name}`, which the abilities of its row promise"
    ]  # fmt: skip
