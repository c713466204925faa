"""workload.txt -> TextWorkload.

The simulator reads the file as one stream of words and checks nothing: a word too many or too few shifts every later
value in silence. So the stream is read strictly, and where it does not fit, the lines are looked at - people write a
layer a line - to say which one is wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from astrac.diagnostics import Diagnosed, Diagnostic, Label, Result, diagnostic, has_errors
from astrac.simulators.astra_sim_1 import keys
from astrac.simulators.astra_sim_1.check_files import check_workload
from astrac.simulators.astra_sim_1.job import (
    DLRMS,
    LAYER_POLICIES,
    TRANSFORMERS,
    WORDS,
    Extras,
    LayerRow,
    Policy,
    TextWorkload,
    Work,
)
from astrac.simulators.texts import Word, Words, by_line
from astrac.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from astrac.job import Kind
    from astrac.source import Source, Span

KINDS: dict[str, Kind | None] = {"NONE": None} | {word: kind for kind, word in WORDS.items()}

SIMAI_WORDS = frozenset({"ep:", "pp:", "vpp:", "ga:", "all_gpus:"})
"""What SimAI puts into the header beside ASTRA-sim's own words."""

_STAGES = ("forward", "input_gradient", "weight_gradient")
_GLUED = re.compile(r".+:[+-]?[0-9]+")


def read_workload(source: Source) -> Result[TextWorkload]:
    """The workload, or what is wrong with it: errors of the form, and what `check_workload` finds."""
    stream = _Stream(source)
    try:
        policy = _policy(stream)
        extras = _extras(stream, policy)
        count = _count(stream, policy)
    except Diagnosed as found:
        return Result(None, (found.diagnostic,))
    rows, findings = _rows(stream, policy, count)
    if has_errors(findings):
        return Result(None, tuple(findings))
    workload = TextWorkload(policy, tuple(rows), extras, stream.origins)
    return Result(workload, (*findings, *_blank_end(source), *check_workload(workload)))


def _blank_end(source: Source) -> Iterator[Diagnostic]:
    """AS854 at a blank line that the file ends with."""
    text = source.text.removesuffix("\n")
    last = text.rfind("\n") + 1
    if last and not text[last:].strip():
        yield diagnostic("AS854", "a blank line at the end", source.span(last, len(text)))


class _Stream(Words):
    """The words; those that are taken with a pointer are remembered."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.origins: dict[str, Span] = {}

    def take(self, pointer: str) -> Word | None:
        """The next word, remembered under a pointer; None at the end."""
        word = self.next()
        if word is not None:
            self.origins[pointer] = word.span
        return word


def _policy(stream: _Stream) -> Policy:
    word = stream.take("/policy")
    if word is None:
        raise Diagnosed(diagnostic("AS740", "the workload is empty", stream.end))
    names = sorted(policy.value for policy in Policy)
    if word.text in names:
        return Policy(word.text)
    if word.text.startswith("\ufeff"):
        mark = stream.source.span(word.span.start, word.span.start + 1)
        raise Diagnosed(diagnostic("AS740", "a byte-order mark before the policy", mark))
    hints = did_you_mean(word.text, names) or (f"one of {', '.join(f'`{name}`' for name in names)}",)
    raise Diagnosed(diagnostic("AS740", f"`{word.text}` is not a policy", word.span, hints=hints))


def _extras(stream: _Stream, policy: Policy) -> Extras:
    """What stands between the policy and the count of layers."""
    if policy in DLRMS:
        return Extras(last_bottom=_extra_number(stream, policy, "/extras/last_bottom"))
    if policy not in TRANSFORMERS:
        return Extras()
    word, following = stream.next(), stream.peek()
    glued = word is not None and _GLUED.fullmatch(word.text) is not None
    if word is not None and glued and (following is None or following.line != word.line):
        message = f"`{word.text}` is one word"
        hint = "write a blank between the word and the number"
        raise Diagnosed(diagnostic("AS743", message, word.span, hints=(hint,)))
    group = _extra_number(stream, policy, "/extras/group")
    if policy is Policy.HYBRID_TRANSFORMER:
        return Extras(group)
    foreign = [word for word in stream.rest() if word.line == stream.at(0).line and word.text in SIMAI_WORDS]
    if foreign:
        words = ", ".join(f"`{word.text}`" for word in foreign)
        hint = f"leave out {words} with their numbers; what they say has no place in ASTRA-sim 1.0"
        message = f"this is SimAI's header (AICB writes it): ASTRA-sim 1.0 knows no {words}"
        raise Diagnosed(diagnostic("AS743", message, foreign[0].span.to(foreign[-1].span), hints=(hint,)))
    checkpoints = _extra_list(stream, policy, "/extras/checkpoints")
    return Extras(group, checkpoints, _extra_list(stream, policy, "/extras/initiates"))


def _extra_list(stream: _Stream, policy: Policy, pointer: str) -> tuple[int, ...]:
    """A word, a count, and so many numbers."""
    stream.next()
    count = _extra_number(stream, policy, pointer)
    if count > stream.left:
        message = f"{count} numbers should follow, the file has {stream.left} words more"
        raise Diagnosed(diagnostic("AS743", message, stream.origins[pointer]))
    return tuple(_extra_number(stream, policy, f"{pointer}/{index}") for index in range(count))


def _extra_number(stream: _Stream, policy: Policy, pointer: str) -> int:
    word = stream.take(pointer)
    value = None if word is None else word.integer
    if value is None:
        span = stream.end if word is None else word.span
        message = "a whole number should stand here" if word is None else f"`{word.text}` is not a whole number"
        needs = f"`{policy.value}` is followed by `{_usage(policy)}`"
        raise Diagnosed(diagnostic("AS743", message, span, Label(stream.origins["/policy"], needs)))
    return value


def _usage(policy: Policy) -> str:
    """How the extras of a policy are written."""
    if policy in DLRMS:
        return "LAST_BOTTOM_LAYER COUNT"
    if policy is Policy.HYBRID_TRANSFORMER:
        return f"{keys.GROUP_WORD} G COUNT"
    return f"{keys.GROUP_WORD} G {keys.CHECKPOINTS_WORD} n c1 .. cn {keys.INITIATES_WORD} m i1 .. im COUNT"


def _count(stream: _Stream, policy: Policy) -> int:
    word = stream.take("/count")
    if word is None:
        raise Diagnosed(diagnostic("AS741", "the count of layers is missing", stream.end))
    value = word.integer
    if value is not None and value >= 1:
        return value
    bare = policy not in DLRMS and policy not in TRANSFORMERS
    beside = stream.at(0).line == word.line
    following = stream.peek()
    if value is None and bare and beside and following is not None and following.line != word.line:
        message = f"`{policy.value}` takes no words before the count of layers"
        raise Diagnosed(diagnostic("AS743", message, word.span))
    if value is None and sum(other.line == word.line for other in stream.rest(0)) > 2:
        message = "the count of layers is missing before the first layer"
        usage = f"`{policy.value}` is followed by `{_usage(policy)}`"
        notes = () if bare else (Label(stream.origins["/policy"], usage),)
        raise Diagnosed(diagnostic("AS741", message, word.span, *notes))
    message = f"`{word.text}` is not a count of layers: a whole number from 1 on"
    raise Diagnosed(diagnostic("AS741", message, word.span))


def _rows(stream: _Stream, policy: Policy, count: int) -> tuple[list[LayerRow], list[Diagnostic]]:
    """The layers by the stream; where they do not fit, what is wrong with the lines."""
    width = 13 if policy is Policy.HYBRID_CUSTOMIZED else 12
    words = stream.rest()
    rows: list[LayerRow] = []
    findings: list[Diagnostic] = []
    while len(rows) < count and len(words) >= (len(rows) + 1) * width:
        row, findings = _row(words[len(rows) * width : (len(rows) + 1) * width], f"/rows/{len(rows)}", stream.origins)
        if row is None:
            break
        rows.append(row)
    if len(rows) == count:
        return rows, _after(stream, words[count * width :], count, width)
    return rows, _explain(stream, words, count, width) or findings or _runs_out(stream, words, len(rows), width)


def _after(stream: _Stream, rest: list[Word], count: int, width: int) -> list[Diagnostic]:
    """What follows the last layer: more layers are an error, other text is advice."""
    more = 0
    while len(rest) >= (more + 1) * width and _row(rest[more * width : (more + 1) * width], "", {})[0] is not None:
        more += 1
    if more:
        return [_miscounted(stream, count, count + more)]
    if rest:
        span = rest[0].span.to(rest[-1].span)
        return [diagnostic("AS845", "text after the last layer is not read", span)]
    return []


def _miscounted(stream: _Stream, count: int, found: int) -> Diagnostic:
    layers = f"{found} layer{'s' if found != 1 else ''}"
    return diagnostic("AS741", f"the count says {count}, the file has {layers}", stream.origins["/count"])


def _explain(stream: _Stream, words: list[Word], count: int, width: int) -> list[Diagnostic]:
    """What is wrong, line by line; nothing when the file does not have a layer a line."""
    lines = by_line(words)
    if not lines or (len(lines) == 1 and len(lines[0]) > width and count > 1):
        return []
    same_line = stream.at(stream.place - 1).line == stream.at(0).line
    if len(lines[0]) == 1 and lines[0][0].integer is not None and same_line:
        message = "this is read as the count of layers, and the count as the name of one"
        return [diagnostic("AS743", message, stream.origins["/count"], Label(lines[0][0].span, "the count?"))]
    findings: list[Diagnostic] = []
    for line in lines:
        findings += _explain_line(line, width)
    if not findings and len(lines) != count:
        findings = [_miscounted(stream, count, len(lines))]
    return findings


def _explain_line(line: list[Word], width: int) -> list[Diagnostic]:
    first = line[0]
    span = first.span.to(line[-1].span)
    if first.text.startswith(("#", "//")):
        return [diagnostic("AS742", "a text workload has no comments", span)]
    if len(line) == width:
        return _row(line, "", {})[1]
    hints = []
    if any(mark in first.text for mark in ",;"):
        hints.append("columns are separated by blanks, not by commas or semicolons")
    elif len(line) > width and line[1].integer is None:
        hints.append("a name has no blanks")
    columns = f"{len(line)} column{'s' if len(line) != 1 else ''}"
    return [diagnostic("AS742", f"this layer has {columns} where it needs {width}", span, hints=hints)]


def _runs_out(stream: _Stream, words: list[Word], rows: int, width: int) -> list[Diagnostic]:
    """The words end before the layers do."""
    left = len(words) - rows * width
    if left == 0 and rows:
        count = stream.at(stream.place - 1).integer or 0
        return [_miscounted(stream, count, rows)]
    message = f"layer {rows} has {left} columns where it needs {width}"
    return [diagnostic("AS742", message, words[rows * width].span.to(words[-1].span) if left else stream.end)]


def _row(words: list[Word], pointer: str, origins: dict[str, Span]) -> tuple[LayerRow | None, list[Diagnostic]]:
    """A layer from as many words as it has columns."""
    values: dict[str, Any] = {}
    for (column, read), word in zip(COLUMNS.items(), words, strict=False):
        origins[f"{pointer}/{column}"] = word.span
        values[column] = read(word)
    findings = [value for value in values.values() if isinstance(value, Diagnostic)]
    if findings:
        return None, findings
    forward, input_gradient, weight_gradient = (
        Work(*(values[f"{stage}/{part}"] for part in ("time", "kind", "bytes"))) for stage in _STAGES
    )
    return LayerRow(
        values["name"],
        forward,
        input_gradient,
        weight_gradient,
        values["update"],
        values.get("policy"),
        values["reserved"],
    ), []


def _number(low: int, high: int, unit: str) -> Callable[[Word], int | Diagnostic]:
    """Reads a whole number in a range."""

    def read(word: Word) -> int | Diagnostic:
        value = word.integer
        if value is not None and low <= value <= high:
            return value
        problem = "is not a whole number" if value is None else "is negative" if 0 <= low > value else "is too large"
        return diagnostic("AS746", f"`{_shorten(word.text)}` {problem} ({unit})", word.span)

    return read


def _kind(word: Word) -> Kind | Diagnostic | None:
    """Reads a word for communication."""
    if word.text in KINDS:
        return KINDS[word.text]
    if word.text == "ALLREDUCEALLTOALL":
        return diagnostic(
            "AS744", "`ALLREDUCEALLTOALL` is known to the simulator, but it exits with 1 at it", word.span
        )
    hints = did_you_mean(word.text.partition("_")[0] if "," in word.text else word.text, KINDS)
    if "," in word.text:
        hints = (*hints, "dimensions follow from the policy and are not written")
    return diagnostic("AS744", f"`{_shorten(word.text)}` is not a word for communication", word.span, hints=hints)


def _layer_policy(word: Word) -> Policy | Diagnostic:
    """Reads the policy of a layer."""
    found = next((policy for policy in LAYER_POLICIES if policy.value == word.text), None)
    choices = ", ".join(f"`{policy.value}`" for policy in LAYER_POLICIES)
    message = f"`{_shorten(word.text)}` is not a policy of a layer: {choices}"
    return found or diagnostic("AS745", message, word.span)


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


_CYCLES, _BYTES = _number(0, 2**64 - 1, "cycles"), _number(0, 2**64 - 1, "bytes")

COLUMNS: dict[str, Callable[[Word], Any]] = {
    "name": lambda word: word.text,
    "reserved": _number(-(2**31), 2**31 - 1, "a 32-bit integer"),
    **{
        f"{stage}/{part}": read
        for stage in _STAGES
        for part, read in (("time", _CYCLES), ("kind", _kind), ("bytes", _BYTES))
    },
    "update": _CYCLES,
    "policy": _layer_policy,
}
"""The columns of a layer, in order, with what reads a word or tells what is wrong with it; the last one stands under
`HYBRID_CUSTOMIZED` only."""
