"""The command line: what each command takes, what it is when it is not given, and which words it knows."""

# ruff: noqa: E501

import argparse

import pytest

from astrac.cli import COMMANDS

VARIANT = {"profile": None, "set": [], "point": None}
FILES = [
    "trace", "network", "system", "memory", "groups", "custom-table", "network-1", "system-1", "workload-1", "ns3-logical",
    "ns3-topology", "ns3-config",
]  # fmt: skip
GIVEN = {  # command: its arguments, and what they give
    "check": (
        ["a", "b"],
        {"files": ["a", "b"], "kind": None, "backend": None, "inputs": False, "shallow": False, "bundles": False, **VARIANT, "format": "text",
         "print": False},
    ),
    "check all": (
        ["a", "--kind", "trace", "--backend", "ns3", "--inputs", "--shallow", "--bundles", "--print", "--profile", "p", "--set", "x=1",
         "--set", "y=2", "--point", "q", "--format", "sarif"],
        {"files": ["a"], "kind": "trace", "backend": "ns3", "inputs": True, "shallow": True, "bundles": True, "profile": "p",
         "set": ["x=1", "y=2"], "point": "q", "format": "sarif", "print": True},
    ),
    "build": (["a"], {"spec": "a", "output": None, "target": [], "copy": False, "overwrite": False, "strict": False, **VARIANT}),
    "build all": (
        ["a", "-o", "d", "--target", "astra-sim-1", "--target", "astra-sim-2", "--copy", "--overwrite", "--strict"],
        {"spec": "a", "output": "d", "target": ["astra-sim-1", "astra-sim-2"], "copy": True, "overwrite": True, "strict": True, **VARIANT},
    ),
    "build long": (["a", "--output", "d"], {"spec": "a", "output": "d", "target": [], "copy": False, "overwrite": False, "strict": False, **VARIANT}),
    "estimate": ([], {"paths": [], "backend": None, **VARIANT, "format": "text"}),
    "estimate all": (
        ["a", "b", "--backend", "congestion_aware", "--format", "csv"],
        {"paths": ["a", "b"], "backend": "congestion_aware", **VARIANT, "format": "csv"},
    ),
    "sweep": (
        ["a"],
        {"spec": "a", "over": [], "where": [], "sort": None, "reverse": False, "top": None, "columns": None, "format": None,
         "output": None, "jobs": None, "scheduler": None, "results": None, "fresh": False, **VARIANT},
    ),
    "sweep all": (
        ["a", "--over", "x=[1]", "--where", "x > 1", "--sort", "memory", "--reverse", "--top", "3", "--columns", "x,memory",
         "--format", "csv", "-o", "f", "-j", "2", "--scheduler", "tcp://h:1", "--results", "r", "--fresh"],
        {"spec": "a", "over": ["x=[1]"], "where": ["x > 1"], "sort": "memory", "reverse": True, "top": 3,
         "columns": "x,memory", "format": "csv", "output": "f", "jobs": 2, "scheduler": "tcp://h:1", "results": "r",
         "fresh": True, **VARIANT},
    ),
    "search": (
        ["a"],
        {"spec": "a", "split": "", "over": [], "where": [], "objective": "step_time", "best_only": False, "top": None,
         "columns": None, "format": None, "output": None, "jobs": None, "scheduler": None, "results": None, "fresh": False,
         **VARIANT},
    ),
    "search all": (
        ["a", "--split", "tensor,data", "--over", "x=[1]", "--where", "x > 1", "--objective", "memory", "--best-only", "--top",
         "3", "--columns", "x,memory", "--format", "csv", "-o", "f", "-j", "2", "--scheduler", "tcp://h:1", "--results", "r",
         "--fresh"],
        {"spec": "a", "split": "tensor,data", "over": ["x=[1]"], "where": ["x > 1"], "objective": "memory",
         "best_only": True, "top": 3, "columns": "x,memory", "format": "csv", "output": "f", "jobs": 2,
         "scheduler": "tcp://h:1", "results": "r", "fresh": True, **VARIANT},
    ),
    "fmt": (["a", "b"], {"files": ["a", "b"], "check": False, "diff": False}),
    "fmt all": (["a", "--check", "--diff"], {"files": ["a"], "check": True, "diff": True}),
    "layers": (
        ["m"],
        {"models": ["m"], "weights_only": False, "all": False, "batch": None, "bind": [], "tie": [], "strict": False,
         "compare": False, **VARIANT, "format": "text"},
    ),
    "layers all": (
        ["m", "n", "--weights-only", "--all", "--batch", "8", "--bind", "s=4", "--tie", "a=b", "--strict", "--compare",
         "--format", "json"],
        {"models": ["m", "n"], "weights_only": True, "all": True, "batch": 8, "bind": ["s=4"], "tie": ["a=b"],
         "strict": True, "compare": True, **VARIANT, "format": "json"},
    ),
    "fix": (["a", "b"], {"files": ["a", "b"], "kind": None, "diff": False}),
    "fix all": (["a", "--kind", "network-1", "--diff"], {"files": ["a"], "kind": "network-1", "diff": True}),
    "decode": (["t"], {"trace": "t", "format": "jsonl"}),
    "decode all": (["t", "--format", "text"], {"trace": "t", "format": "text"}),
    "encode": (["l", "-o", "t"], {"lines": "l", "output": "t"}),
    "encode long": (["l", "--output", "t"], {"lines": "l", "output": "t"}),
    "diff": (["a", "b"], {"one": "a", "other": "b"}),
    "import": (["d"], {"folder": "d", "output": None}),
    "import all": (["d", "-o", "s"], {"folder": "d", "output": "s"}),
    "explain": ([], {"code": None, "list": False}),
    "explain all": (["AS301", "--list"], {"code": "AS301", "list": True}),
    "docs": ([], {"check": False}),
    "docs all": (["--check"], {"check": True}),
}  # fmt: skip
CHOICES = {
    ("check", "kind"): FILES,
    ("fix", "kind"): FILES,
    ("check", "backend"): ["congestion_unaware", "congestion_aware", "ns3"],
    ("estimate", "backend"): ["congestion_unaware", "congestion_aware"],
    ("check", "format"): ["text", "json", "sarif", "github", "gitlab"],
    ("estimate", "format"): ["text", "json", "csv"],
    ("sweep", "format"): ["table", "csv", "jsonl", "parquet"],
    ("search", "format"): ["table", "csv", "jsonl", "parquet"],
    ("search", "objective"): ["step_time", "memory"],
    ("layers", "format"): ["text", "csv", "json"],
    ("decode", "format"): ["jsonl", "text"],
    ("build", "target"): ["astra-sim-1", "astra-sim-2"],
}
NEEDED = ("check", "build", "sweep", "search", "fmt", "layers", "fix", "decode", "encode", "diff", "import")


def parser(name):
    made = argparse.ArgumentParser(prog=name)
    COMMANDS[name].declare(made)
    return made


@pytest.mark.parametrize("case", GIVEN)
def test_what_a_line_gives(case):
    arguments, expected = GIVEN[case]
    assert vars(parser(case.partition(" ")[0]).parse_args(arguments)) == expected


def test_every_command_is_here():
    assert {case.partition(" ")[0] for case in GIVEN} == set(COMMANDS)


def test_words():
    found = {
        (name, action.dest): list(action.choices)
        for name in COMMANDS
        for action in parser(name)._actions
        if action.choices
    }
    assert found == CHOICES


@pytest.mark.parametrize("name", NEEDED)
def test_what_must_be_given(name, capsys):
    with pytest.raises(SystemExit) as stop:
        parser(name).parse_args([])
    assert stop.value.code == 2
    assert "the following arguments are required" in capsys.readouterr().err
