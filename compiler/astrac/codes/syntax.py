"""AS1xx: what is no file of the language."""

from __future__ import annotations

from astrac.codes.row import Code

ROWS: tuple[Code, ...] = (
    Code(
        "AS101",
        "unexpected token",
        what="Something stands where it cannot stand. The message says what could.",
        why="An item is `key: value`, `kind name { ... }`, `let name = value` or `assert condition`, and ends at a "
        "line break or a comma. The rest of the file is read all the same, so that one run shows all errors.",
        bad="topology pod {\n  ring a { size = 8, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
        good="topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS102",
        "not UTF-8",
        what="The file is not a UTF-8 text; often it was saved as UTF-16, or is binary.",
        why="A wrong guess at an encoding changes names without a word.",
    ),
    Code(
        "AS103",
        "empty file",
        what="There is nothing in the file but blanks and comments.",
        why="An empty spec describes no machine; it is most often a file that was never saved.",
        bad="# to be written\n",
        good="topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS104",
        "unclosed bracket",
        what="The file ends inside a block, a list or a parenthesis. The note points at the bracket that is open.",
        why="Without the closing bracket there is no telling which items belong to the block.",
        bad="topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n",
        good="topology pod {\n  ring a { size: 8, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS105",
        "brackets do not match",
        what="A bracket closes nothing, or closes one of another kind.",
        why="Without matching brackets there is no telling which items belong to which block.",
        bad="topology pod {\n  ring a { size: (8], bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
        good="topology pod {\n  ring a { size: (8), bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS106",
        "nested too deeply",
        what="More than 32 brackets are open at once.",
        why="No spec needs more than five; a file like this was made by a faulty program.",
        bad="let x = " + "(" * 33 + "1" + ")" * 33 + "\n",
        good="let x = 1\ntopology pod {\n  ring a { size: 8 * x, bandwidth: 50 GB/s, latency: 500 ns }\n}\n",
    ),
    Code(
        "AS107",
        "text that is not closed",
        what='A text does not end on the line where it begins, or holds an escape other than `\\"` and `\\\\`.',
        why="The rest of the line would be part of the text.",
        bad='model m {\n  onnx: "resnet.onnx\n}\n',
        good='model m {\n  onnx: "resnet.onnx"\n}\n',
    ),
    Code(
        "AS108",
        "too many mistakes",
        what="The file has more than a thousand mistakes of one sort; the rest of it was not looked at.",
        why="It is no spec, or one slip at its beginning made all of them.",
    ),
)
