"""The values of all `let`, each evaluated once, in an order in which every one has what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.diagnostics import Diagnosed, Label, diagnostic, quoted
from astrac.language.elaborate.findings import Findings, Lost
from astrac.language.expression import Scope, Value, Word, evaluate, paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from astrac.language import syntax


_LET = ("name the value with `let` and use that",)


class Lets:
    """The lets of a file.

    Attributes:
        names: all of them.
        values: those that have one.
    """

    def __init__(self, lets: Mapping[str, syntax.Let], findings: Findings) -> None:
        self.names = tuple(lets)
        self.values: dict[str, Value] = {}
        self._lets = lets
        for name in self._order(findings):
            with findings.collected():
                self.values[name] = evaluate(lets[name].value, self.scope)

    @property
    def scope(self) -> Scope:
        """Where words have the values of lets, and paths none."""
        return Scope(self.lookup, self.names)

    def lookup(self, path: syntax.Path) -> Value:
        """The value of a let; any other word stays a word.

        Raises:
            Diagnosed: AS218 for a dotted path.
            Lost: for a let that has no value.
        """
        name = path.names[0].text
        if len(path.names) > 1:
            message = f"the path {quoted(path.text)} can be used in `assert` and `where` only"
            last = path.names[-1].text
            hints = (f"a let has no `{name}.` before it: write `{last}`",) if last in self._lets else _LET
            raise Diagnosed(diagnostic("AS218", message, path.span, hints=hints))
        if name in self.values:
            return self.values[name]
        if name in self._lets:
            raise Lost
        return Word(name, path.span)

    def _order(self, findings: Findings) -> Iterator[str]:
        """Depth first without recursion, for chains of lets may be long; a circle is reported and left out."""
        done: set[str] = set()
        for start in self._lets:
            stack = [(start, _words(self._lets[start].value))]
            on_stack = {start: None}
            while stack and start not in done:
                name, needs = stack[-1]
                needed = next((word for word in needs if word.text in self._lets and word.text not in done), None)
                if needed is None:
                    stack.pop()
                    on_stack.pop(name)
                    done.add(name)
                    yield name
                elif needed.text in on_stack:
                    opening = self._lets[needed.text].name.span
                    message = f"{quoted(needed.text)} needs its own value"
                    findings.add(diagnostic("AS217", message, needed.span, Label(opening, "defined here")))
                    done.update(on_stack)
                    break
                else:
                    stack.append((needed.text, _words(self._lets[needed.text].value)))
                    on_stack[needed.text] = None


def _words(node: syntax.Expression) -> Iterator[syntax.Name]:
    """The single words of an expression."""
    return (path.names[0] for path in paths(node) if len(path.names) == 1)
