"""What the table of simulators is made of: the command line imports it at every start, so it is light."""

from __future__ import annotations

from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from astrac.bundle import Artifact
    from astrac.diagnostics import Diagnostic, Result
    from astrac.simulators.results import SimulationResult
    from astrac.source import Source, Span
    from astrac.training.plan import Plan


class Ability(Enum):
    """What a simulator can be asked for beside checks of its files.

    BUILD: a plan becomes files (`lower`, `write`, `command`).
    SIMULATE: the time of a job is known (`simulate`), from files too (`of_arguments`).
    CONVERT: jobs are compared and made specs (`differences`, `to_spec`).
    """

    BUILD = auto()
    SIMULATE = auto()
    CONVERT = auto()


class FileKind(NamedTuple):
    """A kind of input file.

    Attributes:
        title: for people, with the simulator's name.
        belongs: whether a text, with the lower-case name of its file, is one; a broken text of the kind is one too.
        limit: bytes beyond which it is something else; the readers' time and memory follow from it.
        called: for people, where one is missing.
        option: of the simulator's command line that names such a file.
        name: of such a file in our bundles; tells what an empty text is meant to be.
        role: kinds of different simulators with one role take each other's place ("" for none).
        last: told by its shape alone, so it is asked after all kinds of all simulators that have words of their own.
        mark: the simulator passes over a byte-order mark.
        suffix, signature: of a kind that is no text: the end of its file names, and how its bytes begin.
    """

    title: str
    belongs: Callable[[str, str], bool]
    limit: int = 256 << 10
    called: str = ""
    option: str = ""
    name: str = ""
    role: str = ""
    last: bool = False
    mark: bool = True
    suffix: str = ""
    signature: re.Pattern[bytes] | None = None

    def text(self, path: Path, inside: Path | None = None) -> Source:
        """A file of the kind as it is shown; raises Diagnosed, AS700, when it is no such text."""
        from astrac import files  # noqa: PLC0415 - a row is light

        return files.text(path, self.limit, inside, mark=self.mark)

    @property
    def is_text(self) -> bool:
        """Whether people can read it."""
        return self.signature is None


class Edit(NamedTuple):
    """Characters `start` to `end` of a text become `text`."""

    start: int
    end: int
    text: str


class FileSet(NamedTuple):
    """Files that run together; some that a run needs may be missing, where they are only checked.

    Attributes:
        simulator: the name of the one that runs them.
        folder: that holds them all.
        files: one a kind; for `trace` the prefix of the traces.
        ranks: of the traces that there are.
        ours: whether a manifest of ours names them.
        listed: whether the user named each of them, so that links may lead anywhere.
    """

    simulator: str
    folder: Path
    files: Mapping[str, Path]
    ranks: Sequence[int] = ()
    ours: bool = False
    listed: bool = False

    @property
    def inside(self) -> Path | None:
        """The folder that no file may lead out of, None where the user named each."""
        return None if self.listed else self.folder


class Simulator(NamedTuple):
    """A row of `table.SIMULATORS`.

    Attributes:
        name: the word for `--target`, and the folder in a bundle.
        title: for people.
        package: its dotted name; it has modules `kinds` (KINDS: word -> FileKind) and `simulator` (a Wing).
        reads: kinds of files that only it has, by the word for `--kind`; the keys of KINDS.
        needs: kinds of files of which a set that runs has exactly one; the last is the work, the others the machine.
        takes: kinds of which it may have one.
        abilities: what else it can be asked for.
        backends: words for `--backend`, the default first; () where there is one.
        options: of its own command line, as `estimate` takes them.
        variable: of the environment, names the binary to `run.sh` and to the tests; "" where we run none.
    """

    name: str
    title: str
    package: str
    reads: tuple[str, ...]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    abilities: frozenset[Ability] = frozenset()
    backends: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    variable: str = ""

    @property
    def kinds(self) -> Mapping[str, FileKind]:
        """The rows of `reads`."""
        found: Mapping[str, FileKind] = import_module(f"{self.package}.kinds").KINDS
        return found

    @property
    def wing(self) -> Wing:
        """The functions that do the work."""
        return cast("Wing", import_module(f"{self.package}.simulator"))

    def can(self, ability: Ability) -> bool:
        """Whether it can be asked for this."""
        return ability in self.abilities


def elsewhere(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module `simulator`: imports a function of a Wing when it is asked for.

    Args:
        package: of the simulator.
        modules: of that package, by the functions that they have, under the same names.
    """

    def function(name: str) -> Any:
        if name not in modules:
            raise AttributeError(name)
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return function


class Wing(Protocol):
    """The functions of a simulator's module `simulator`. A job is whatever `lower` and `read` make of their input."""

    def check_file(self, kind: str, source: Source, data: bytes, backend: str | None) -> tuple[Diagnostic, ...]:
        """What is wrong with one file by itself; the source of a kind that is no text is only its name."""

    def check_set(self, found: FileSet, backend: str | None) -> Iterator[Diagnostic]:
        """All that is wrong with files that run together, on a backend or on the one that they are for.

        Files that a run needs may be missing: then it is what the others say of each other.
        """

    def fix(self, kind: str, source: Source, beside: Callable[[], Mapping[str, Sequence[Path]]]) -> Iterator[Edit]:
        """Edits of a text that have one right answer; `beside` looks what else the folder has, by kind."""

    def decode(self, data: bytes, form: str) -> Iterator[str]:
        """The lines of a file that is no text: `text` for people, `jsonl` to be encoded again; raises Diagnosed."""

    def encode(self, lines: Iterator[str]) -> bytes:
        """The inverse of `decode`; raises Diagnosed."""

    def set_apart(self, files: dict[str, list[Path]]) -> None:
        """Gives files that serve others, and are no inputs of a run by themselves, a kind of their own."""

    # -- BUILD

    def can_say(self, plan: Plan, near: Callable[[str], Span]) -> tuple[Diagnostic, ...]:
        """AS7xx for everything in a plan that the simulator has no words for; what is not stated is refused."""

    def lower(self, plan: Plan, near: Callable[[str], Span]) -> Result[Any]:
        """The job of a plan, judged; `near` gives the place of a JSON pointer of the spec's document."""

    def write(self, job: Any, cycles: int | None) -> tuple[Artifact, ...]:
        """Files by their path in the simulator's folder, read back and compared; `cycles` is what `run.sh` expects.

        Raises:
            Diagnosed: AS7xx what the files cannot hold, AS91x what does not read back.
        """

    def command(self, job: Any) -> tuple[str, ...]:
        """The simulator's arguments, relative to its folder."""

    def describe(self, job: Any) -> Mapping[str, Any] | None:
        """What the manifest keeps of a job that its files cannot say."""

    # -- SIMULATE

    def read(self, found: FileSet) -> Result[Any]:
        """The job of files that belong together."""

    def of_arguments(self, arguments: Sequence[str]) -> Result[Any]:
        """The job of files that the simulator's own options name."""

    def judge(self, job: Any) -> tuple[Diagnostic, ...]:
        """What a job shows that none of its files shows by itself, as far as simulating it does not tell."""

    def simulate(self, job: Any, backend: str | None) -> SimulationResult:
        """What a run of the job reports; `Outcome.SAMPLED` where only the whole plan tells, not a sample."""

    # -- CONVERT

    def differences(self, one: Any, other: Any) -> tuple[str, ...]:
        """A line a difference, in the words of the files."""

    def to_spec(self, found: FileSet, origin: str) -> Result[str]:
        """A spec that builds the same network, system and memory, with AS876 for what it leaves out.

        Files of ranks may be missing: the machine is imported then.
        """
