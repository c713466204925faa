"""Every diagnostic code with its page: one Markdown file each in `pages/`, read when it is asked for.

`AS1xx` syntax, `AS2xx` names, `AS3xx` units, `AS4xx` schema, `AS5xx` meaning, `AS6xx` model and ONNX, `AS7xx` what a
target cannot express or accept, `AS8xx` advice (warnings), `AS9xx` compiler bugs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from astrac import resources

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True)
class Code:
    """A diagnostic code and its page (`astrac explain CODE`).

    Attributes:
        code: `AS` and three digits; never reused for another meaning.
        title: a few words, lower case.
        severity: one per code.
        area: the chapter of `grammar/DIAGNOSTICS.md`, the same for all codes of a hundred.
        what: what is wrong, in a sentence or two.
        why: what would happen otherwise (often what the simulator does with it).
        bad: a spec (or the artifact, named in the first comment line) that triggers it.
        good: the same, repaired.
        without: in place of the two examples, why there are none.
    """

    code: str
    title: str
    severity: Severity
    area: str
    what: str
    why: str
    bad: str = ""
    good: str = ""
    without: str = ""


_PARTS = (
    ("its head, `# AS999: title`", r"# (?P<code>AS[1-9]\d\d): (?P<title>.+)\n\n"),
    ("`Severity: error. Area: units.`", r"Severity: (?P<severity>error|warning|note)\. Area: (?P<area>.+)\.\n\n"),
    ("a paragraph that says what is wrong", r"(?!This is \w+:|No example: )(?P<what>(?:.+\n)+)\n"),
    ("a paragraph that says why it matters", r"(?!This is \w+:|No example: )(?P<why>(?:.+\n)+)\n"),
    (
        "an example after `This is refused:` (or `reported`), or `No example: reason.`",
        r"This is (?:refused|reported):\n\n```\w+\n(?P<bad>(?:.*\n)+?)```\n\n|No example: (?P<without>.+)\n",
    ),
    ("the example repaired, after `This is right:`", r"This is right:\n\n```\w+\n(?P<good>(?:.*\n)+?)```\n"),
)
"""What a page says, in this order: each part in words, and its form."""


def parse_page(text: str) -> Code:
    """The code that a page is about.

    Raises:
        ValueError: a part of the page is missing, or something else follows the last; the message says what.
    """
    said: dict[str, str] = {}
    at = 0
    for part, form in _PARTS:
        match = re.compile(form).match(text, at)
        if match is None:
            raise ValueError(f"{text[2:7]}.md lacks {part}")
        said |= {name: found for name, found in match.groupdict().items() if found is not None}
        at = match.end()
        if "without" in said:
            break
    if at < len(text):
        raise ValueError(f"{text[2:7]}.md does not end after its last part")
    paragraphs = {name: said[name].rstrip("\n").replace("\n", " ") for name in ("what", "why")}
    return Code(**said | paragraphs | {"severity": Severity(said["severity"])})  # type: ignore[arg-type]


class Codes(Mapping[str, Code]):
    """The codes of a folder of pages. A page is read when its code is asked for, once."""

    def __init__(self, folder: Traversable) -> None:
        self._folder = folder
        self._read: dict[str, Code] = {}

    def __getitem__(self, code: str) -> Code:
        if code not in self._read:
            page = self._folder / f"{code}.md"
            if not (re.fullmatch(r"AS\d{3}", code) and page.is_file()):
                raise KeyError(code)
            self._read[code] = parse_page(page.read_text(encoding="utf-8"))
        return self._read[code]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(page.name.removesuffix(".md") for page in self._folder.iterdir() if page.name[:2] == "AS"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


CODES = Codes(resources.package() / "pages")
