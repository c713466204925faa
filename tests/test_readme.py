"""The README's first screen is true: its spec, what building it prints, its mistake."""

import re
from pathlib import Path

from astrac import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_spec_is_the_example():
    (spec,) = re.findall(r"^```\n(# ResNet-50.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert spec == (ROOT / "specs" / "resnet50_ring.astra").read_text()


def test_the_demo_prints_what_is_shown(capsys, monkeypatch, tmp_path):
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["build", "specs/resnet50_ring.astra", "-o", "out/resnet50_ring"]) == 0
    shown = README.partition("$ make demo\n")[2].partition("    $ make test")[0]
    assert capsys.readouterr().out == re.sub(r"^    ", "", shown, flags=re.MULTILINE)


def test_the_mistake_gets_the_message_that_is_shown(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("resnet50.astra").write_text(
        (ROOT / "specs" / "resnet50_ring.astra").read_text().replace("50 GB/s", "50 gb/s")
    )
    assert cli.main(["check", "resnet50.astra"]) == 1
    shown = re.search(r"(?:^    .*\n)+", README[README.index("    error[AS301]") :], re.MULTILINE)[0]
    assert capsys.readouterr().out.startswith(re.sub(r"^    ", "", shown, flags=re.MULTILINE))
