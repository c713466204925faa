"""The shape of the house: few rooms, few ways between them, and no circle. Imports for types alone count as well."""

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1] / "compiler" / "astrac"
ROOMS, WAYS = 32, 104


def name_of(path):
    """The dotted name of a module's file."""
    parts = path.relative_to(TOP.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in TOP.rglob("*.py")}
PACKAGES = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")


def imported(path):
    """The modules of ours that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: write imports absolute"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


IMPORTS = {(name, other) for name, path in MODULES.items() for other in imported(path) if other in MODULES} - {
    (name, name) for name in MODULES
}


def within(package):
    """What is directly in a package imports what is directly in it: its modules, sub-packages and own `__init__`."""

    def child(name):
        if name == package:
            return f"{package}.__init__"
        return package + "." + name.removeprefix(package + ".").partition(".")[0]

    inside = {name for name in MODULES if name == package or name.startswith(package + ".")}
    pairs = {(child(name), child(other)) for name, other in IMPORTS if name in inside and other in inside}
    return {(name, other) for name, other in pairs if name != other}


def circle(pairs):
    """Names each of which imports the next, and the last the first; [] if there are none."""
    after = {name: sorted(other for one, other in pairs if one == name) for name, _ in pairs}
    done, path = set(), []

    def walk(name):
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        path.append(name)
        found = next((found for other in after.get(name, ()) if (found := walk(other))), [])
        path.pop()
        done.add(name)
        return found

    return next((found for name in sorted(after) if (found := walk(name))), [])


def test_circles_are_found():
    assert circle({("a", "b"), ("b", "c"), ("a", "c")}) == []
    assert circle({("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")}) == ["b", "c", "d"]


def test_few_rooms_and_ways():
    rooms = {name.split(".")[1] for name in MODULES if "." in name}
    assert len(rooms) <= ROOMS, f"{len(rooms)} modules and packages directly in astrac, not {ROOMS}: {sorted(rooms)}"
    ways = within("astrac")
    shown = "\n".join(sorted(f"{name} -> {other}" for name, other in ways))
    assert len(ways) <= WAYS, f"{len(ways)} imports between what is directly in astrac, not {WAYS}:\n{shown}"


def test_no_two_modules_import_each_other():
    found = circle(IMPORTS)
    assert not found, "modules in a circle: " + " -> ".join([*found, found[0]])


@pytest.mark.parametrize("package", PACKAGES)
def test_no_circle_in_a_package(package):
    found = circle(within(package))
    assert not found, f"a circle in {package}: " + " -> ".join([*found, found[0]])
