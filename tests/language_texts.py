"""Random texts of the language: right ones for the formatter, and spoilt ones for the fuzzers."""

from hypothesis import strategies as st

NAMES = ("a", "b", "ring", "topology", "size", "e5", "GB", "us", "größe")
UNITS = ("", " GB/s", " us", "%", " Gbps", " TFLOPS", "ns")
BLANKS = ("", " ", "  ", "\t")
ENDS = ("\n", "\n\n", "\n\n\n\n", ",", " , ", ",\n", "\n,\n", " # note\n", "\n# own line\n", ",# tight\n\n# own\n")


def names():
    """A word."""
    return st.sampled_from(NAMES)


def expressions():
    """A value, with blanks in odd places."""
    numbers = st.tuples(st.sampled_from(("1", "51_200", "2.5", "175e9")), st.sampled_from(UNITS)).map("".join)
    leaves = st.one_of(numbers, names(), st.sampled_from(('"text"', '"a \\" # b"', "true", "false", "a.b . c")))
    return st.recursive(leaves, _larger, max_leaves=8)


def _larger(inner):
    operators = st.sampled_from((" + ", "-", " * ", " / ", "*", " -\t"))
    ends = st.sampled_from((", ", ",", "\n", " # in a list\n", ",\n\n# own\n"))
    return st.one_of(
        st.tuples(inner.map(_product), operators, inner.map(_product)).map("".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"(\n{text} # in brackets\n )"),
        st.tuples(ends, st.lists(inner, max_size=3)).map(lambda parts: f"[{parts[0].join(parts[1])}]"),
        st.tuples(ends, st.lists(inner, min_size=1, max_size=3)).map(lambda parts: f"[\n{parts[0].join(parts[1])}\n]"),
        inner.map(lambda text: f"-({text})"),
        st.tuples(inner.map(_product), inner.map(_product)).map(lambda parts: f"({parts[0]} <= {parts[1]})"),
        inner.map(lambda text: f"(not ({text}) and true or false)"),
    )


def _product(text):
    return f"({text})"


def items():
    """An item without its end."""
    blanks = st.sampled_from(BLANKS)
    attributes = st.builds("{}{}:{}{}".format, st.one_of(names(), st.just('"2*seq"')), blanks, blanks, expressions())
    lets = st.builds("let {} ={}{}".format, names(), blanks, expressions())
    asserts = st.builds('assert {} "why"'.format, expressions())
    headers = st.builds(
        "{}{}{}".format,
        names(),
        st.one_of(st.just(""), names().map(" {}".format), st.just(' "res4*"')),
        st.one_of(st.just(""), names().map(" from  {}".format)),
    )
    simple = st.one_of(attributes, headers)
    blocks = st.recursive(simple, lambda inner: st.builds("{} {{{}}}".format, headers, bodies(inner)), max_leaves=6)
    top = st.one_of(
        blocks, lets, asserts, st.just('use  "std/x.astra"'), st.builds("profile p {{{}}}".format, bodies(attributes))
    )
    return st.one_of(top, st.builds("sweep{{{}}}".format, bodies(attributes)))


def bodies(inner):
    """Items with ends between them, and perhaps around them."""
    between = st.lists(st.tuples(inner, st.sampled_from(ENDS)), max_size=3)
    start = st.sampled_from(("", " ", "\n", " # open\n", "\n# first\n\n"))
    last = st.sampled_from(("", " ", "\n", "\n# last\n"))
    return st.builds(lambda first, parts, end: first + _joined(parts) + end, start, between, last)


def _joined(parts):
    text = "".join(item + end for item, end in parts)
    return text.removesuffix("\n,\n").rstrip(",") if parts else text


def texts():
    """A file that parses, with at least one item."""
    return st.builds("{}{}\n{}".format, st.sampled_from(("", "\n\n", "# head\n")), items(), bodies(items()))
