"""How many random mutants of the compiler the tests catch: `python tests/bench/bench_mutation.py --seed 1 --count 100`.

A seed picks expressions of compiler/astrac and a change of each: a comparison or a boolean operator flipped, a number
one off, another arithmetic operator, a `not` dropped or added, a word changed, a value returned negated or as None.
Left out are docstrings, annotations, imports for types, generated code, `__slots__`, and texts with blanks, for people.
A mutant is met by the tests that reach its lines, those of its statement first, and if it survives those by all others
that are fast: what reads a table is not seen to reach it. Which tests reach a line is found by coverage, once for a
state of the repository, and kept in the work folder; nothing is written to the checkout. Mutants that mean the same as
the original survive, too, and are listed like any other.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate, islice, zip_longest
from pathlib import Path

import coverage

ROOT = Path(__file__).parents[2]
SOURCE = "compiler/astrac"
PARTS = ("compiler", "docs", "grammar", "schemas", "specs", "templates", "tests")
GENERATED = ("spec.py",)
OMIT = (
    "test_precommit.py", "test_packaging.py", "test_simulator.py", "test_language_fuzz.py", "test_guard_mutations.py",
    "test_same_input", "a_megabyte", "not_recurse", "larks_own", "thousand_million", "hostile", "what_ran_passes",
    "kill_at_any", "no_text_ends", "no_bytes_end", "nothing_heavy",
)  # fmt: skip
"""Tests of what stands around the compiler, and those that take seconds for what many others look at."""
SECONDS, FEW, BYTES = 120, 20, 6 * 2**30
"""Of tests for a mutant; of those for a line, how many come first; and the memory that a mutant may take."""

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip

PLUGIN = """
import json, os, pathlib, resource, time
import pytest
wanted, report = os.environ.get("MUTATION_TESTS"), os.environ.get("MUTATION_REPORT")
seconds = {}
if wanted:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
if report:
    import coverage

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if wanted:
        order = {name: place for place, name in enumerate(json.loads(pathlib.Path(wanted).read_text()))}
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if report:
        coverage.Coverage.current().switch_context(item.nodeid)
        start = time.perf_counter()
    result = yield
    if report:
        seconds[item.nodeid] = time.perf_counter() - start
    return result

def pytest_sessionfinish():
    if report:
        pathlib.Path(report).write_text(json.dumps(seconds))
"""


@dataclass(frozen=True)
class Mutant:
    """One expression of one file, as it is and as it becomes."""

    path: str
    first: int
    last: int
    statement: int  # the last line of the statement that it is in
    start: int  # bytes of the file
    end: int
    before: str
    after: str

    def __str__(self):
        return f"{self.path}:{self.first}: {shown(self.before)}  ->  {shown(self.after)}"


def shown(code):
    line = " ".join(code.split())
    return line if len(line) <= 100 else f"{line[:97]}..."


class Sites(ast.NodeVisitor):
    """All (node, replacement code) of a file."""

    def __init__(self):
        self.found = {}
        self.returns = [None]
        self.end = 0

    def visit(self, node):
        before, self.end = self.end, node.end_lineno if isinstance(node, ast.stmt) else self.end
        super().visit(node)
        self.end = before

    def add(self, node, code):
        self.found.setdefault((node, max(self.end, node.end_lineno)), []).append(code)

    def changed(self, node, **fields):
        self.add(node, ast.unparse(type(node)(**{**dict(ast.iter_fields(node)), **fields})))

    def visit_JoinedStr(self, node):  # its parts have no places of their own in Python 3.11
        pass

    def visit_Expr(self, node):
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_If(self, node):
        if ast.unparse(node.test) != "TYPE_CHECKING":
            if not isinstance(node.test, ast.Compare | ast.UnaryOp | ast.BoolOp):
                self.add(node.test, f"not ({ast.unparse(node.test)})")
            self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value and "TypeAlias" not in ast.unparse(node.annotation):
            self.visit(node.value)

    def visit_Assign(self, node):
        if ast.unparse(node.targets[0]) not in {"__slots__", "__all__"}:
            self.generic_visit(node)

    def visit_FunctionDef(self, node):
        self.returns.append(ast.unparse(node.returns) if node.returns else None)
        for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults), *node.body):
            self.visit(part)
        self.returns.pop()

    def visit_Return(self, node):
        words = (self.returns[-1] or "").replace(" ", "").split("|")
        if node.value and words == ["bool"] and not isinstance(node.value, ast.Compare | ast.UnaryOp | ast.BoolOp):
            self.add(node.value, f"not ({ast.unparse(node.value)})")
        elif node.value and "None" in words and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.add(node.value, "None")
        self.generic_visit(node)

    def visit_Compare(self, node):
        for other in COMPARISONS[type(node.ops[0])]:
            self.changed(node, ops=[other(), *node.ops[1:]])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        self.changed(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.USub):
            self.add(node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in OPERATORS:
            self.changed(node, op=OPERATORS[type(node.op)]())
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if type(node.op) in OPERATORS:
            self.changed(node, op=OPERATORS[type(node.op)]())
        self.visit(node.value)

    def visit_Call(self, node):
        if ast.unparse(node.func) in {"isinstance", "cast", "TypeVar"}:  # types
            for part in node.args[: 1 if ast.unparse(node.func) == "isinstance" else 0]:
                self.visit(part)
        else:
            self.generic_visit(node)

    def visit_keyword(self, node):
        if node.arg not in {"help", "metavar", "hints", "strict"}:
            self.generic_visit(node)

    def visit_Constant(self, node):
        match node.value:
            case bool():
                self.add(node, repr(not node.value))
            case int() | float():
                self.add(node, repr(node.value + 1))
                self.add(node, f"({node.value - 1!r})" if node.value < 1 else repr(node.value - 1))
            case str() if node.value and not any(letter.isspace() for letter in node.value):
                self.add(node, repr(f"X{node.value}"))


def mutants(top):
    """The mutants of each expression of the compiler, in a fixed order."""
    for path in sorted((top / SOURCE).rglob("*.py")):
        if path.name in GENERATED:
            continue
        text = path.read_bytes()
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        sites = Sites()
        sites.visit(ast.parse(text))
        for (node, last), codes in sites.found.items():
            start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            name, before = path.relative_to(top).as_posix(), text[start:end].decode()
            yield [Mutant(name, node.lineno, node.end_lineno, last, start, end, before, code) for code in codes]


def mutated(text, mutant):
    return text[: mutant.start] + mutant.after.encode() + text[mutant.end :]


def parses(mutant):
    """Whether it is a program; a few changes of patterns are none."""
    try:
        compile(mutated((ROOT / mutant.path).read_bytes(), mutant), mutant.path, "exec")
    except SyntaxError:
        return False
    return True


def copy(folder):
    """The repository without what was generated beside it."""
    for name in PARTS:
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".*"), dirs_exist_ok=True
        )
    for path in (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"):
        shutil.copy(path, folder)
    (folder / "mutation_plugin.py").write_text(PLUGIN.replace("BYTES", str(BYTES)))
    return folder


def pytest(folder, before, after, seconds, **environment):
    """Whether the tests pass; no result within the time is a failure."""
    command = [*before, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation_plugin", *after]
    paths = os.pathsep.join([str(folder), str(folder / "compiler")])
    environment = (
        os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)} | environment
    )
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return False, "no end"
    return process.returncode == 0, output.decode(errors="replace")[-3000:]


def reach(work, jobs):
    """Of the repository as it is: `lines` {path: {line: [tests]}} and `seconds` {test: time}."""
    state = hashlib.sha256()
    for path in sorted([*(ROOT / "compiler").rglob("*.py"), *(ROOT / "tests").glob("*.py")]):
        state.update(path.read_bytes())
    kept = work / f"reach-{state.hexdigest()[:16]}.json"
    if not kept.exists():
        print("finding which tests reach which lines, once for this state of the repository ...", flush=True)
        files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").glob("test_*.py"))]
        with tempfile.TemporaryDirectory(dir=work) as name, ThreadPoolExecutor(jobs) as pool:
            parts = list(pool.map(reach_of, [copy(Path(name) / str(n)) for n in range(jobs)], slices(files, jobs)))
        lines, seconds = {}, {}
        for found, times in parts:
            seconds.update(times)
            for file, tests in found.items():
                for line, names in tests.items():
                    lines.setdefault(file, {}).setdefault(line, []).extend(names)
        kept.write_text(json.dumps({"lines": lines, "seconds": seconds}))
    return json.loads(kept.read_text())


def slices(files, jobs):
    return [files[n::jobs] for n in range(jobs)]


def reach_of(folder, files):
    """The lines that some files of tests reach, and how long each test takes."""
    data = folder / "reach.coverage"
    before = [sys.executable, "-m", "coverage", "run", f"--source={SOURCE}", f"--data-file={data}"]
    omit = ["-k", " and ".join(f"not {word}" for word in OMIT), *files]
    passed, output = pytest(folder, before, omit, 3600, MUTATION_REPORT=str(folder / "seconds.json"))
    assert passed, output
    found = coverage.CoverageData(str(data))
    found.read()
    lines = {}
    for file in found.measured_files():
        tests = found.contexts_by_lineno(file)
        lines[Path(file).relative_to(folder).as_posix()] = {n: list(filter(None, tests[n])) for n in tests}
    return lines, json.loads((folder / "seconds.json").read_text())


def tests_of(mutant, known):
    """Those that reach its lines; where only imports do, those of files that name the module, then all of the file."""
    lines, seconds = known["lines"].get(mutant.path, {}), known["seconds"]
    found = {test for line in range(mutant.first, mutant.last + 1) for test in lines.get(str(line), ())}
    named = set()
    if not found:
        module = mutant.path.removeprefix("compiler/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        files = {path.name for path in (ROOT / "tests").glob("*.py") if module in path.read_text(encoding="utf-8")}
        named = {test for test in seconds if Path(test.partition("::")[0]).name in files}
        found = named | {test for tests in lines.values() for test in tests} or set(seconds)
    # First those that reach what few reach of the statement, then a case of each function in turns.
    body = sorted((lines.get(str(line), []) for line in range(mutant.first, mutant.statement + 1)), key=len)
    rare = {test: None for tests in body for test in sorted(tests, key=lambda test: seconds[test])[:FEW]}
    by_function = {}
    for test in sorted(found, key=lambda test: (test not in named, seconds[test], test)):
        by_function.setdefault(test.partition("[")[0], []).append(test)
    rounds = [test for tests in zip_longest(*by_function.values()) for test in tests if test]
    chosen, total = [], 0.0
    for test in dict.fromkeys([*rare, *rounds]):
        total += seconds[test]
        if total <= SECONDS or not chosen:
            chosen.append(test)
    return chosen


def others(chosen, known):
    """The tests that were not chosen, the fast ones of them."""
    seconds = known["seconds"]
    left = sorted(set(seconds).difference(chosen), key=lambda test: (seconds[test], test))
    ends = accumulate(seconds[test] for test in left)
    return [test for test, end in zip(left, ends, strict=True) if end <= SECONDS]


def met(mutant, folder, known):
    """Whether the tests catch it."""
    path = folder / mutant.path
    text = path.read_bytes()
    path.write_bytes(mutated(text, mutant))
    try:
        chosen = tests_of(mutant, known)
        return fails(folder, chosen, known) or fails(folder, others(chosen, known), known)
    finally:
        path.write_bytes(text)


def fails(folder, tests, known):
    """Whether one of the tests fails, or does not end."""
    names = folder / "tests.json"
    names.write_text(json.dumps(tests))
    files = sorted({test.partition("::")[0] for test in tests})
    most = 60 + 5 * sum(known["seconds"][test] for test in tests)
    return not pytest(folder, [sys.executable], ["-x", *files], most, MUTATION_TESTS=str(names))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--work", type=Path, default=Path(tempfile.gettempdir()) / "astrac-mutation", help="kept results"
    )
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    os.nice(15)
    known = reach(arguments.work, arguments.jobs)
    everything = list(mutants(ROOT))
    draw = random.Random(arguments.seed)
    draw.shuffle(everything)
    picked = list(islice(filter(parses, map(draw.choice, everything)), arguments.count))
    with tempfile.TemporaryDirectory(dir=arguments.work) as name, ThreadPoolExecutor(arguments.jobs) as pool:
        folders = queue.SimpleQueue()
        for number in range(arguments.jobs):
            folders.put(copy(Path(name) / str(number)))

        def one(mutant):
            folder = folders.get()
            try:
                return met(mutant, folder, known)
            finally:
                folders.put(folder)

        survivors = []
        for mutant, killed in zip(picked, pool.map(one, picked), strict=True):
            print(f"{'killed  ' if killed else 'SURVIVED'}  {mutant}", flush=True)
            survivors += [] if killed else [mutant]
    killed = len(picked) - len(survivors)
    print(f"\nseed {arguments.seed}: {killed} of {len(picked)} mutants killed, {len(survivors)} survived")
    for mutant in survivors:
        print(f"  {mutant}")


if __name__ == "__main__":
    main()
