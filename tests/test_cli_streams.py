"""What the command line writes where: reports, colours, the progress bar, wrong use, and streams that break."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from astrac import __main__, cli, reference
from astrac.cli import shared, specs
from astrac.diagnostics import diagnostic
from astrac.source import Source

ROOT = Path(__file__).parents[1]
RING = str(ROOT / "specs" / "resnet50_ring.astra")
SPAN = Source("a.astra", "x: 1\n").span(0, 1)
ERROR, WARNING = diagnostic("AS201", "unknown name `x`", SPAN), diagnostic("AS801", "odd", SPAN)
PLAIN = "error[AS201]: unknown name `x`\n --> a.astra:1:1\n  |\n1 | x: 1\n  | ^\n"


@pytest.fixture
def run(capsys):
    def call(*arguments):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return call


# -- reports


def test_a_report_stands_apart_on_stderr_and_not_on_stdout(capsys):
    shared.report([ERROR])
    assert capsys.readouterr() == ("", PLAIN + "\n")
    shared.report([ERROR], errors_to="stdout")
    assert capsys.readouterr() == (PLAIN, "")
    shared.report([])
    assert capsys.readouterr() == ("", "")


def test_colours_on_a_terminal_only_and_not_with_no_color(capsys, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    shared.report([ERROR])
    assert "\x1b" not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shared.report([ERROR])
    assert capsys.readouterr().err.startswith("\x1b[1;31merror[AS201]\x1b[0m")
    shared.report([ERROR], "json")
    assert "\x1b" not in capsys.readouterr().err
    monkeypatch.setenv("NO_COLOR", "1")
    shared.report([ERROR])
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "findings, status, verdict",
    [
        ([], 0, "2 files: clean\n"),
        ([WARNING], 0, "\n2 files: 1 warning\n"),
        ([ERROR, ERROR, WARNING], 1, "\n2 files: 1 error, 1 warning\n"),
        ([ERROR, diagnostic("AS202", "y", SPAN)], 1, "\n2 files: 2 errors\n"),
    ],
)
def test_the_verdict_counts_each_finding_once(capsys, findings, status, verdict):
    assert shared.told(findings, "text", "2 files") == status
    out = capsys.readouterr().out
    assert out.endswith(verdict)
    assert shared.told(findings, "text", "") == status
    assert "2 files" not in capsys.readouterr().out


def test_only_people_get_a_verdict(capsys):
    assert shared.told([ERROR], "json", "2 files") == 1
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)] == ["AS201"]
    assert shared.told([], "github", "2 files") == 0
    assert capsys.readouterr().out == ""


# -- the progress bar


def test_a_bar_shows_how_much_is_written(capsys, monkeypatch):
    assert specs._progress(specs.SLOW_BYTES) is None  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert specs._progress(specs.SLOW_BYTES - 1) is None
    show = specs._progress(100_000_000)
    show(2_000_000)  # less than a fortieth
    assert capsys.readouterr().err == ""
    show(48_000_000)
    assert capsys.readouterr().err == f"\rwriting     [{'#' * 20}{'.' * 20}]"
    show(50_000_000)
    assert capsys.readouterr().err == f"\rwriting     [{'#' * 40}]\n"
    show(1_000_000)  # more than was announced
    assert capsys.readouterr().err == ""


def test_bundles_of_an_earlier_build_are_told_of(capsys, tmp_path):
    for folder in ("old", "new", "other"):
        (tmp_path / folder).mkdir()
    for manifest in ("manifest.json", "old/manifest.json", "new/manifest.json"):
        (tmp_path / manifest).touch()
    specs._tell_leftovers(tmp_path, {tmp_path / "new"})
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[2] for line in told] == [f"{tmp_path}:", f"{tmp_path}/old:"]


# -- wrong use


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["explain", "as3011"], "astrac explain: no code `as3011`, did you mean `AS301`?\n"),
        (["explain", "x"], "astrac explain: no code `x`; `--list` shows all\n"),
        (["layers", RING, "--batch", "2"], "astrac layers: a spec says batch, bindings and ties itself: "),
        (["layers", "zoo:vgg16", "--bind", "n"], "astrac layers: --bind takes A=B, not `n`\n"),
        (["layers", "zoo:vgg16", "--bind", "=1"], "astrac layers: --bind takes A=B, not ``\n"),
        (["layers", "zoo:vgg16", "--bind", "n=1.5"], "astrac layers: --bind n takes a whole number, not `1.5`\n"),
        (["layers", "zoo:vgg16", "--compare"], "astrac layers: --compare takes two models, and only --compare takes"),
        (["layers", "zoo:vgg16", "zoo:vgg19"], "astrac layers: --compare takes two models, and only --compare takes"),
        (["estimate"], "astrac estimate: give paths, or ASTRA-sim's own options\n"),
        (["estimate", RING, "--num-passes", "2"], "astrac estimate: give paths, or ASTRA-sim's own options\n"),
        (["fmt", "none.astra"], "astrac fmt: cannot read none.astra: no such file or directory\n"),
    ],
)
def test_wrong_use_is_told_in_one_line(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


@pytest.mark.parametrize("batch", ["0", "-1", "1.5", "\u0661", "9" * 19])
def test_a_batch_is_a_whole_number_from_1(run, batch):
    status, _, err = run("layers", "zoo:vgg16", f"--batch={batch}")
    assert status == 2
    assert f"`{batch}` is no whole number from 1" in err


def test_options_of_the_simulators_are_taken_as_they_are():
    given = ["estimate", "--num-passes", "2", "--comm-scale=0.5", "--format", "csv", "--network-configuration"]
    ours = ["estimate", "--format", "csv"]
    assert cli._split(given) == (ours, ["--num-passes=2", "--comm-scale=0.5", "--network-configuration="])
    assert cli._split(["check", "--num-passes", "2"]) == (["check", "--num-passes", "2"], [])


def test_a_folder_without_specs(run, tmp_path):
    assert run("fmt", tmp_path)[::2] == (2, f"astrac fmt: no .astra file below {tmp_path}\n")
    assert run("check", tmp_path)[::2] == (2, f"astrac check: no file of ours or of ASTRA-sim's below {tmp_path}\n")


def test_explain_without_a_code_lists_all_of_them(run):
    pages = sorted(path.stem for path in (ROOT / "compiler" / "astrac" / "pages").glob("AS*.md"))
    for arguments in ((), ("--list",), ("--list", "AS301"), ("AS301", "--list")):
        status, out, _ = run("explain", *arguments)
        assert status == 0
        assert [line.split()[0] for line in out.splitlines()] == pages
    assert run("explain", "AS301")[1].startswith("AS301: ")


@pytest.mark.parametrize("code, says", [("AS301", "This is refused:"), ("AS801", "This is reported:")])
def test_a_page_shows_its_examples(run, code, says):
    out = run("explain", code)[1]
    text = (ROOT / "compiler" / "astrac" / "pages" / f"{code}.md").read_text()
    examples = [part.partition("\n")[2].rstrip("\n").splitlines() for part in text.split("```")[1::2]]
    shown = ["\n".join(f"    {line}" if line else "" for line in lines) for lines in examples]
    assert f"\n\n{says}\n\n{shown[0]}\n\nThis is right:\n\n{shown[1]}\n" in out


# -- bundles against their specs


@pytest.fixture
def bundles(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ring.astra").write_bytes(Path(RING).read_bytes())
    for name in ("one", "two"):
        assert run("build", "ring.astra", "-o", name)[0] == 0
    return tmp_path


@pytest.mark.usefixtures("bundles")
def test_bundles_that_are_what_their_specs_give(run):
    assert run("check", "--bundles", "one/manifest.json") == (0, "1 bundle: clean\n", "")
    assert run("check", "--bundles", "one/manifest.json", "one/estimate.json")[1] == "1 bundle: clean\n"
    assert run("check", "--bundles", "ring.astra")[1] == "2 bundles: clean\n"
    assert run("check", "--bundles", "other.astra", "ring.astra.bak")[1] == "0 bundles: clean\n"
    assert run("check", "--bundles", "ring.astra", "--format", "json")[1] == "[]\n"


def test_an_older_compiler_is_no_difference_and_another_recipe_is(run, bundles):
    manifest = bundles / "one" / "manifest.json"
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(said | {"compiler": "astrac 0.0.1"}))
    assert run("check", "--bundles", manifest)[:2] == (0, "1 bundle: clean\n")
    manifest.write_text(json.dumps(said | {"commands": {}}))
    status, out, _ = run("check", "--bundles", manifest)
    assert status == 1
    assert out.startswith("error[AS787]: `manifest.json` is not what the spec gives\n")


def test_files_that_are_not_what_the_spec_gives_are_named(run, bundles):
    folder = bundles / "one"
    (folder / "astra-sim-2" / "network.yml").write_text("x")
    (folder / "astra-sim-1" / "run.sh").unlink()
    traces = sorted((folder / "astra-sim-2" / "workload").glob("*.et"))
    for trace in traces[:3]:
        trace.unlink()
    said = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(said | {"commands": {}}))  # follows from the rest: not told
    status, out, _ = run("check", "--bundles", folder)
    assert status == 1
    assert sorted(line for line in out.splitlines() if line.startswith("error")) == [
        "error[AS787]: `astra-sim-1/run.sh` is missing",
        "error[AS787]: `astra-sim-2/network.yml` is not what the spec gives",
        f"error[AS787]: `astra-sim-2/workload/{traces[0].name}` is missing, and so 2 others",
    ]
    assert out.endswith("\n1 bundle: 3 errors\n")


def test_what_builds_a_bundle_again_is_the_whole_command(run, bundles):
    settings = ["--set", "training.micro_batch=2", "--set", "topology.ring8.nvlink.latency = 1 us"]
    assert run("build", "ring.astra", "-o", "a b", *settings, "--target", "astra-sim-2")[0] == 0
    assert run("check", "--bundles", "a b")[:2] == (0, "1 bundle: clean\n")
    (bundles / "a b" / "astra-sim-2" / "network.yml").write_text("x")
    out = run("check", "--bundles", "a b")[1]
    command = out.partition("build it again: `")[2].partition("`")[0]
    assert run(*shlex.split(command)[1:])[0] == 0
    assert run("check", "--bundles", "a b")[:2] == (0, "1 bundle: clean\n")


def test_a_spec_whose_name_is_not_utf_8(run, bundles):
    name = os.fsdecode(b"r\xff.astra")
    (bundles / name).write_bytes((bundles / "ring.astra").read_bytes())
    assert run("build", name, "-o", "bytes")[0] == 0
    assert json.loads((bundles / "bytes" / "manifest.json").read_text())["spec"]["name"] == name
    assert run("check", "--bundles", "bytes")[:2] == (0, "1 bundle: clean\n")


def test_a_bundle_without_its_spec(run, bundles):
    (bundles / "ring.astra").unlink()
    assert (
        "error[AS787]: no spec `ring.astra` is near the bundle or below here\n" in run("check", "--bundles", "one")[1]
    )
    (bundles / "ring.astra").write_text("let x = 1\n")
    out = run("check", "--bundles", "one")[1]
    assert "error[AS787]: `ring.astra` does not build, so it does not give this bundle\n" in out


# -- docs and fmt


def test_docs_says_what_is_stale_and_writes_it(run, monkeypatch):
    written = []
    monkeypatch.setattr(reference, "stale_references", lambda: ("a.md",))
    monkeypatch.setattr(reference, "write_references", lambda: written.append("a.md"))
    assert run("docs", "--check")[:2] == (1, "a.md is not what the schemas say: run `astrac docs`\n")
    assert written == []
    assert run("docs")[:2] == (0, "a.md is written anew\n")
    assert written == ["a.md"]
    monkeypatch.setattr(reference, "stale_references", tuple)
    assert run("docs", "--check")[:2] == (0, "")


def test_fmt_writes_checks_or_shows(run, tmp_path):
    path = tmp_path / "a.astra"
    path.write_text("let  n=1\n")
    assert run("fmt", "--check", path)[:2] == (1, f"{path} would change\n")
    status, out, _ = run("fmt", "--diff", path)
    assert status == 1
    assert "-let  n=1\n+let n = 1\n" in out
    assert path.read_text() == "let  n=1\n"
    assert run("fmt", path)[:2] == (0, f"{path} formatted\n")
    assert path.read_text() == "let n = 1\n"
    for options in ((), ("--check",), ("--diff",)):
        assert run("fmt", *options, path)[:2] == (0, "")


# -- streams that break


def astrac(*arguments, **streams):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "compiler")}
    return subprocess.Popen(
        [sys.executable, "-m", "astrac", *arguments], env=environment, stderr=subprocess.PIPE, text=True, **streams
    )


def test_a_full_disk_is_told_once():
    with Path("/dev/full").open("w") as full, astrac("explain", "--list", stdout=full) as process:
        assert process.communicate()[1] == "astrac explain: no space left on device\n"
    assert process.returncode == 2


def test_a_reader_that_has_seen_enough():
    read, write = os.pipe()
    os.close(read)
    with astrac("explain", "--list", stdout=write) as process:
        os.close(write)
        assert process.communicate()[1] == ""
    assert process.returncode == 0


def test_an_interrupt_has_the_status_of_its_signal(run, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.COMMANDS, "docs", cli.COMMANDS["docs"]._replace(run=interrupted))
    assert run("docs")[0] == 130


def test_what_cannot_be_written_is_told(run, tmp_path):
    lines = tmp_path / "lines"
    lines.write_text('{"version": "0.0.4"}\n{"id": 1, "name": "a", "type": "COMP_NODE", "duration_micros": 5}\n')
    status, _, err = run("encode", lines, "-o", tmp_path)
    assert (status, err) == (2, f"astrac encode: cannot write {tmp_path}: is a directory\n")
    assert run("encode", lines, "-o", tmp_path / "t.et") == (0, "", "")
    assert run("decode", tmp_path / "t.et")[1].splitlines()[0].startswith('{"version": "0.0.4"')


def wrong(tmp_path, name="bad.astra"):
    path = tmp_path / name
    path.write_text("let = 1\n")
    return str(path)


@pytest.mark.parametrize("form", ["text", "json", "github", "gitlab", "sarif"])
def test_nobody_reads_and_the_status_is_that_of_the_findings(tmp_path, form):
    read, write = os.pipe()
    os.close(read)
    with astrac("check", "--format", form, wrong(tmp_path), stdout=write) as process:
        os.close(write)
        assert process.communicate()[1] == ""
    assert process.returncode == 1


def test_a_closed_output_and_one_without_letters(tmp_path):
    bad = wrong(tmp_path, "\u00e9\u4e2d.astra")
    for shell in ('exec "$@" >&-', 'exec "$@" >&- 2>&-', 'PYTHONIOENCODING=ascii exec "$@"', 'LC_ALL=C exec "$@" <&-'):
        command = [sys.executable, "-m", "astrac", "check", bad]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "compiler")}
        done = subprocess.run(["sh", "-c", shell, "sh", *command], env=environment, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(subprocess.check_output(
        ["sh", "-c", '"$@"; true', "sh", *command, "--format", "json"],
        env=environment | {"PYTHONIOENCODING": "ascii"},
    ))[0]["file"] == bad  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json", "github", "gitlab", "sarif"])
def test_names_of_files_do_not_steer_a_terminal(run, tmp_path, form):
    bad = wrong(tmp_path, "a\x1b[31m\x07\u202e\nb.astra")
    status, out, err = run("check", "--format", form, bad)
    assert status == 1
    assert not set("\x1b\x07\u202e") & set(out + err)
    assert form != "github" or out.count("\n") == 1
    for command in ("build", "estimate", "fmt", "layers"):
        for path in (bad, f"{bad}\x1b\x07x"):
            assert not set("\x1b\x07") & set("".join(run(command, path)[1:]))


def test_what_is_no_file_is_refused_at_once(run, tmp_path):
    os.mkfifo(fifo := tmp_path / "a.astra")
    (tmp_path / "b.astra").write_text('use "a.astra"\n')
    for command in ("check", "build", "estimate", "fmt"):
        assert run(command, fifo)[::2] == (2, f"astrac {command}: cannot read {fifo}: is not a file\n")
    assert run("check", tmp_path / "b.astra")[0] == 1


@pytest.mark.parametrize("number", ["1_", "1__0", "1_e3", "1._0", "1.0_", "1_.0"])
def test_a_number_has_single_underscores_inside(run, tmp_path, number):
    (path := tmp_path / "a.astra").write_text(f"let a = {number}\n")
    assert run("check", path)[0] == 1


def test_a_text_of_1_0_is_mended_in_a_time_that_its_length_tells(run, tmp_path):
    path = tmp_path / "system.txt"
    path.write_text(f"scheduling-policy: LIFO\n{'x-' * 100_000}\nactive-chunks-per-dimension:1\n")
    assert run("fix", path)[0] == 0
    assert path.read_text().endswith("\nactive-chunks-per-dimension: 1\n")


def test_a_value_that_nobody_reads_is_left_where_it_is(run, tmp_path):
    path = tmp_path / "system.txt"
    text = "scheduling-policy: LIFO\nall-reduce-implementation:\\ ring\n"
    path.write_text(text)
    run("fix", path, "--kind", "system-1")
    assert path.read_text() == text


@pytest.mark.usefixtures("bundles")
def test_no_link_of_a_bundle_leads_elsewhere(run, tmp_path):
    inside = tmp_path / "one" / "astra-sim-2" / "network.yml"
    inside.rename(outside := tmp_path / "elsewhere.yml")
    inside.symlink_to(outside)
    status, out, _ = run("check", "--bundles", "one")
    assert status == 1
    assert "`astra-sim-2/network.yml` is not what the spec gives" in out


def test_a_way_through_a_folder_that_is_not_there_is_refused_before_anything_is_written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("build", RING, "-o", "a/../b")[::2] == (2, "astrac build: cannot write a/../b: a is no folder\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_while_the_commands_are_imported(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    assert __main__.main() == 130
