"""From text to a checked Spec: what every command begins with, so it imports no more than it needs."""

from __future__ import annotations

import errno
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from astrac import resources
from astrac.diagnostics import MAX_FINDINGS, Diagnosed, Diagnostic, Result, diagnostic, has_errors
from astrac.language import syntax
from astrac.language.assess import assess
from astrac.language.construct import construct
from astrac.language.elaborate import elaborate
from astrac.language.format import formatted
from astrac.language.home import at_home
from astrac.language.parse import parse
from astrac.language.resolve import LOST, prepare
from astrac.language.validate import validate
from astrac.simulators.table import SPEC_RULES
from astrac.source import Source
from astrac.training.rules import rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from astrac.language.document import Document
    from astrac.language.resolve import Prepared
    from astrac.source import Span
    from astrac.spec import Spec

T = TypeVar("T")

MAX_SPEC_BYTES = 2 * 2**20
"""Specs are short; a file beyond this is something else."""


@dataclass(frozen=True)
class Options:
    """What a command line says about a compilation.

    Attributes:
        profile: overlay of the spec, by name.
        settings: `path=value` texts, laid over the spec last.
        point: of the sweep, by name; None for all.
        targets: words of `simulators.TARGETS`; () for all that can say the spec.
        strict: an unknown ONNX operator is an error.
        over: items that are swept besides those of the spec's `sweep`, or in their place, as texts.
    """

    profile: str | None = None
    settings: tuple[str, ...] = ()
    point: str | None = None
    targets: tuple[str, ...] = ()
    strict: bool = False
    over: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """One variant of a spec, as far as it could be checked without a model.

    Attributes:
        document: elaborated.
        spec: None where errors stand in the way, or for a library.
        diagnostics: of this variant alone.
    """

    document: Document
    spec: Spec | None
    diagnostics: tuple[Diagnostic, ...]


class Stop(Exception):  # noqa: N818 - ends a chain, is no error of the program
    """Errors between two passes."""


class Chain:
    """Runs passes one after the other and keeps what they found."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []

    def take(self, result: Result[T]) -> T:
        """The value of a pass; what it found is kept. Raises Stop when that is an error."""
        value = self.keep(result)
        if has_errors(result.diagnostics):
            raise Stop
        return value

    def keep(self, result: Result[T]) -> T:
        """The value of a pass whatever was found. Raises Stop only when there is none."""
        self.found += result.diagnostics
        if result.value is None:
            raise Stop
        return result.value

    def note(self, findings: Iterable[Diagnostic]) -> None:
        """Findings without a value; raises Stop when there is an error among them."""
        self.take(Result((), tuple(findings)))

    def refused(self, code: str, message: str, span: Span, *, hints: Iterable[str] = ()) -> Stop:
        """What to raise after an error, which is kept."""
        self.found.append(diagnostic(code, message, span, hints=hints))
        return Stop()


# -- text to Spec


def read(path: str) -> bytes:
    """The bytes of a spec or of a file that one uses; `std/...` is the shipped library.

    Raises:
        OSError: it cannot be read, or is too large to be a spec.
    """
    if path.startswith("std/"):
        return resources.resource("specs", *path.split("/")).read_bytes()
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError(errno.EINVAL, "Is not a file")
    with Path(path).open("rb") as file:
        data = file.read(MAX_SPEC_BYTES + 1)
    if len(data) > MAX_SPEC_BYTES:
        raise OSError(27, f"more than {MAX_SPEC_BYTES // 2**20} MiB")
    return data


REMEMBERED_BYTES = 2**16

_remembered = lru_cache(64)(parse)


def _parsed(name: str, data: bytes) -> Result[syntax.File]:
    """What `parse` gives; a file of usual size is parsed once for all specs that use it, and for all profiles."""
    return (_remembered if len(data) <= REMEMBERED_BYTES else parse)(name, data)


@dataclass
class Inputs:
    """Everything that a compilation reads, by the name that the manifest gives it: bytes, or a model's own digest."""

    contents: dict[str, bytes | str]

    def load(self, path: str) -> Result[syntax.File]:
        """A file that a spec uses; raises OSError."""
        data = read(path)
        self.add(path, data)
        return _parsed(path, data)

    def add(self, path: str, data: bytes) -> None:
        """A file by its base name, a shipped one by its path in the library."""
        name = path if path.startswith("std/") else Path(path).name
        self.contents[name] = data

    def digests(self) -> dict[str, str]:
        """Name to `sha256:...`; made when asked for, since a check needs none."""
        from hashlib import sha256  # noqa: PLC0415 - costs a check a twentieth of its time

        return {
            name: content if isinstance(content, str) else f"sha256:{sha256(content).hexdigest()}"
            for name, content in self.contents.items()
        }


def _setting(text: str, chain: Chain) -> syntax.Attribute:
    """What `--set path=value` says, as an attribute; the value is read as in a spec."""
    key, equals, value = text.partition("=")
    if equals:
        items = chain.take(parse("--set", f"{key.strip()}: {value}".encode(errors="surrogateescape"))).items
        if len(items) == 1 and isinstance(items[0], syntax.Attribute):
            return items[0]
    raise chain.refused("AS232", "`--set` takes `path=value`", Source("--set", text).span(0, len(text)))


Variant: TypeAlias = tuple["Document", tuple[Diagnostic, ...]]
"""A document, and what is wrong with it that is not wrong with all others of the sweep."""


def prepared(name: str, data: bytes, options: Options, inputs: Inputs, chain: Chain) -> Prepared:
    """A spec with everything chosen but the point of its sweep.

    Errors do not end the chain here as long as there is something to go on with: one run shows all of them.
    """
    file = chain.keep(_parsed(name, data))
    settings = [_setting(text, chain) for text in options.settings]
    swept = [item for text in options.over for item in _swept(text, chain)]
    return chain.keep(prepare(file, inputs.load, options.profile, settings, swept))


def _swept(text: str, chain: Chain) -> tuple[syntax.Item, ...]:
    """What is swept besides: the items of a `sweep` as a text."""
    items = chain.take(parse("--over", text.encode(errors="surrogateescape"))).items
    if not items:
        raise chain.refused("AS232", "`--over` takes `path=[values]`", Source("--over", text).whole())
    return items


@contextmanager
def told(spec: Prepared, chain: Chain) -> Iterator[None]:
    """What is wrong with a sweep inside ends the chain, told unless it may stand in what did not parse."""
    try:
        yield
    except Diagnosed as error:
        lost = spec.draft.broken and error.diagnostic.code in LOST
        chain.found += () if lost else (error.diagnostic,)
        raise Stop from None


def chosen(spec: Prepared, options: Options, chain: Chain) -> Iterator[Variant]:
    """The elaborated and validated points of a spec, whether its sweep wants them or not, one after the other."""
    known = []
    with told(spec, chain):
        for point in spec.points():
            if options.point in (None, point.name):
                yield elaborated(spec.variant(point))
            known.append(point.name)
    if options.point not in (None, *known):
        hint = f"there are: {', '.join(known)}" if known != [""] else "the spec sweeps nothing"
        place = spec.draft.file.source.whole()
        raise chain.refused("AS230", f"the sweep has no point `{options.point}`", place, hints=(hint,))


def variants(name: str, data: bytes, options: Options, inputs: Inputs | None = None) -> Result[tuple[Variant, ...]]:
    """The elaborated and validated documents of a spec: one for each point of its sweep that is wanted."""
    chain = Chain()
    try:
        made = tuple(chosen(prepared(name, data, options, inputs or Inputs({}), chain), options, chain))
    except Stop:
        return Result(None, tuple(chain.found))
    wanted = [pair for pair in made if not pair[0].excluded]
    everywhere = dict.fromkeys(wanted[0][1] if wanted else ())
    for _, others in wanted[1:]:
        everywhere = dict.fromkeys(filter(set(others).__contains__, everywhere))
    apart = ((document, tuple(found for found in all_ if found not in everywhere)) for document, all_ in wanted)
    return Result(tuple(apart), _read_on((*chain.found, *everywhere)))


def _read_on(found: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """As many findings as anybody reads, with AS108 in place of more."""
    if len(found) <= MAX_FINDINGS + 1:
        return found
    message = f"after {MAX_FINDINGS:,} mistakes the rest is not looked at"
    return (*found[:MAX_FINDINGS], diagnostic("AS108", message, found[MAX_FINDINGS].labels[0].span))


def elaborated(variant: syntax.Variant) -> Variant:
    """A point as a document, and what is wrong with it."""
    chain = Chain()
    document = chain.keep(validate(chain.keep(elaborate(variant))))
    return document, tuple(chain.found)


DEFAULTS = Options()


def check(
    name: str, data: bytes, options: Options = DEFAULTS, inputs: Inputs | None = None
) -> Result[tuple[Checked, ...]]:
    """A spec or a library of blocks, checked as far as it can be without reading a model; writes nothing."""
    documents, found = variants(name, data, options, inputs)
    if documents is None or has_errors(found):
        return Result(None, (*found, *(each for _, apart in documents or () for each in apart)))
    return Result(tuple(judged(document, apart) for document, apart in documents), found)


def shallow(name: str, data: bytes, options: Options = DEFAULTS) -> tuple[Diagnostic, ...]:
    """What is wrong with a spec as far as nothing but specs is read, and a note (AS542) of what was not looked at."""
    points, found = check(name, data, options)
    findings = [*found, *(finding for point in points or () for finding in point.diagnostics)]
    for point in points or ():
        if point.spec is not None and not has_errors(findings):
            files = [f"`{path}`" for path in (point.spec.model.onnx, point.spec.model.times) if path is not None]
            message = f"not looked at: {', '.join((*files, 'layers, memory and collectives'))}"
            findings.append(diagnostic("AS542", message, point.document.near("/model")))
    return tuple(findings)


def profiles(name: str, data: bytes) -> tuple[str, ...]:
    """The names of a spec's profiles, as far as it parses."""
    file = _parsed(name, data).value
    return () if file is None else tuple(item.name.text for item in file.items if isinstance(item, syntax.Profile))


def judged(document: Document, found: tuple[Diagnostic, ...]) -> Checked:
    """A document with what its keys mean together, unless it has errors."""
    if not document.is_spec or has_errors(found):
        return Checked(document, None, found)
    spec = construct(document)
    found += tuple(at_home(document, each) for each in rules(spec, document.near, SPEC_RULES))
    return Checked(document, spec, (*found, *assess(document)))


# -- formatting


def reformat(name: str, data: bytes) -> Result[str]:
    """The text of a spec in the one style; none when it does not parse."""
    value, found = parse(name, data)
    return Result(None if value is None or has_errors(found) else formatted(value), found)


def difference(name: str, before: bytes, after: str) -> str:
    """The unified difference that formatting makes."""
    old = before.decode("utf-8-sig", "replace").splitlines(keepends=True)
    return "".join(unified_diff(old, after.splitlines(keepends=True), name, f"{name}, formatted"))
