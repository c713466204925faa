"""Writing: whole or not at all, and never a file that is not ours."""

import errno
import itertools
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from astrac import bundle, cli
from astrac.bundle import Artifact, Bundle, text_artifact, writing

HEAD = {"compiler": "astrac test"}


def of(ranks, word="a", *more):
    """A bundle of `ranks` equal traces and a few texts."""
    content = word.encode() * 10
    trace = Artifact("astra-sim-2/workload/x.{rank}.et", 10, lambda: (content,), ranks=tuple(range(ranks)))
    return Bundle(HEAD, (trace, text_artifact("astra-sim-2/run.sh", word, executable=True), *more))


def tree(folder):
    """Relative path -> content, of every file below."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def codes(result):
    return [finding.code for finding in result.diagnostics]


def test_a_bundle_is_written_and_its_manifest_lists_it(tmp_path):
    assert bundle.write(of(3), tmp_path / "deep" / "out").ok
    out = tmp_path / "deep" / "out"
    assert sorted(tree(out)) == [
        "astra-sim-2/run.sh",
        "astra-sim-2/workload/x.0.et",
        "astra-sim-2/workload/x.1.et",
        "astra-sim-2/workload/x.2.et",
        "manifest.json",
    ]
    # echo -n aaaaaaaaaa | sha256sum; echo -n a | sha256sum
    assert json.loads((out / "manifest.json").read_text()) == {
        "compiler": "astrac test",
        "files": [
            {
                "path": "astra-sim-2/workload/x.{rank}.et",
                "ranks": "0-2",
                "linked": True,
                "size": 10,
                "sha256": "bf2cb58a68f684d95a3b78ef8f661c9a4e5b09e82cc8f9cc88cce90528caeb27",
            },
            {
                "path": "astra-sim-2/run.sh",
                "size": 1,
                "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
            },
        ],
    }
    assert os.access(out / "astra-sim-2/run.sh", os.X_OK)
    assert not os.access(out / "astra-sim-2/workload/x.0.et", os.X_OK)
    assert names(tmp_path / "deep") == ["out"]


@pytest.mark.parametrize("copy, links", [(False, 4), (True, 1)])
def test_equal_files_are_links_unless_copies_are_asked_for(tmp_path, copy, links):
    assert bundle.write(of(4), tmp_path / "out", copy=copy).ok
    assert (tmp_path / "out/astra-sim-2/workload/x.3.et").stat().st_nlink == links
    assert json.loads((tmp_path / "out/manifest.json").read_text())["files"][0]["linked"] is not copy


def test_a_file_has_no_more_links_than_the_file_system_allows(tmp_path, monkeypatch):
    """ext4 has 65,000 for a file: then the next copy gets the links."""
    link = os.link

    def few(source, *rest, **options):
        if Path(source).stat().st_nlink == 3:
            raise OSError(errno.EMLINK, "Too many links")
        link(source, *rest, **options)

    monkeypatch.setattr(os, "link", few)
    assert bundle.write(of(8), tmp_path / "out").ok
    traces = [tmp_path / f"out/astra-sim-2/workload/x.{rank}.et" for rank in range(8)]
    assert [path.stat().st_nlink for path in traces] == [3] * 6 + [2] * 2
    assert len({path.stat().st_ino for path in traces}) == 3
    assert len({path.read_bytes() for path in traces}) == 1


def unable(*_, **__):
    raise PermissionError(1, "Operation not permitted")


def test_copies_where_links_fail(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", unable)
    assert bundle.write(of(3), tmp_path / "out").ok
    assert {path.stat().st_nlink for path in (tmp_path / "out/astra-sim-2/workload").iterdir()} == {1}
    assert json.loads((tmp_path / "out/manifest.json").read_text())["files"][0]["linked"] is False


def test_stale_traces_go_and_the_users_files_stay(tmp_path):
    out = tmp_path / "out"
    assert bundle.write(of(9), out).ok
    (out / "notes.txt").write_text("mine")
    (out / "astra-sim-2/log").mkdir()
    (out / "astra-sim-2/log/log.log").write_text("sys[0] finished")
    (out / "astra-sim-2/workload/other.7.et").write_text("hand-made")
    (out / "plans").mkdir(mode=0o700)
    (out / "dangling").symlink_to("nowhere")
    kept = (out / "notes.txt").stat().st_ino
    assert bundle.write(of(2, "b"), out).ok
    files = tree(out)
    del files["manifest.json"]
    assert files == {
        "astra-sim-2/run.sh": "b",
        "astra-sim-2/workload/x.0.et": "b" * 10,
        "astra-sim-2/workload/x.1.et": "b" * 10,
        "astra-sim-2/workload/other.7.et": "hand-made",
        "astra-sim-2/log/log.log": "sys[0] finished",
        "notes.txt": "mine",
    }
    assert (out / "plans").stat().st_mode & 0o777 == 0o700
    assert (out / "dangling").readlink() == Path("nowhere")
    assert (out / "notes.txt").stat().st_ino == kept
    assert names(tmp_path) == ["out"]


def test_a_folder_without_our_manifest_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    result = bundle.write(of(2), tmp_path)
    assert codes(result) == ["AS713"]
    assert tree(tmp_path) == {"notes.txt": "mine"}
    for foreign in (
        "{}",
        "[1",
        '{"compiler": "gcc 12", "files": []}',
        '{"compiler": "astrac 1", "files": [{"path": 3}]}',
    ):
        (tmp_path / "manifest.json").write_text(foreign)
        assert codes(bundle.write(of(2), tmp_path)) == ["AS713"]


def test_an_empty_folder_is_taken(tmp_path):
    assert bundle.write(of(2), tmp_path).ok
    assert (tmp_path / "manifest.json").exists()


def test_what_is_in_the_way_is_named(tmp_path):
    out = tmp_path / "out"
    assert bundle.write(of(1), out).ok
    (out / "astra-sim-1").write_text("not a folder")
    result = bundle.write(of(1, "b", text_artifact("astra-sim-1/run.sh", "")), out)
    assert codes(result) == ["AS712"]
    assert "`astra-sim-1`" in result.diagnostics[0].message
    (out / "estimate.json").mkdir()
    assert codes(bundle.write(of(1, "b", text_artifact("estimate.json", "{}")), out)) == ["AS712"]
    assert tree(out)["astra-sim-2/run.sh"] == "a"


def test_errors_of_the_system_are_diagnostics(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    assert codes(bundle.write(of(1), tmp_path / "file")) == ["AS711"]
    assert codes(bundle.write(of(1), tmp_path / "file" / "below")) == ["AS711"]
    assert codes(bundle.write(of(1), "/")) == ["AS711"]
    assert codes(bundle.write(of(1), "/proc/nowhere/out")) == ["AS711"]
    monkeypatch.chdir(tmp_path)
    assert codes(bundle.write(of(1), ".")) == ["AS711"]


def test_a_full_disk_leaves_what_was_there(tmp_path):
    def chunks():
        yield b"half"
        raise OSError(28, "No space left on device")

    out = tmp_path / "out"
    assert bundle.write(of(2), out).ok
    before = tree(out)
    result = bundle.write(Bundle(HEAD, (Artifact("a", 8, chunks),)), out)
    assert [finding.message for finding in result.diagnostics] == [
        f"cannot write the bundle `{out}`: no space left on device"
    ]
    assert tree(out) == before
    assert names(tmp_path) == ["out"]


def test_no_link_is_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "run.sh").write_text("precious")
    out = tmp_path / "out"
    assert bundle.write(of(1), out).ok
    # A manifest that lists a path below a link, and one that climbs out.
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["files"] += [{"path": "link/run.sh"}, {"path": "../outside/run.sh"}]
    (out / "manifest.json").write_text(json.dumps(manifest))
    (out / "link").symlink_to(outside)
    assert bundle.write(of(1, "b"), out).ok
    assert tree(outside) == {"run.sh": "precious"}
    assert (out / "link").is_symlink()
    # A link in the place of the folder that is built beside is not ours.
    (tmp_path / ".out.astrac-new").symlink_to(outside)
    assert codes(bundle.write(of(1, "c"), out)) == ["AS711"]
    assert tree(outside) == {"run.sh": "precious"}


def test_a_manifest_of_endless_files_is_not_ours(tmp_path):
    (tmp_path / "manifest.json").write_text(
        '{"compiler": "astrac 1", "files": [{"path": "x.{rank}", "ranks": "0-9999999,0-9999999"}]}'
    )
    assert codes(bundle.write(of(1), tmp_path)) == ["AS713"]


def test_two_renames_where_there_is_no_exchange(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_exchanged", lambda *_: False)
    out = tmp_path / "out"
    assert bundle.write(of(3), out).ok
    (out / "notes.txt").write_text("mine")
    assert bundle.write(of(2, "b"), out).ok
    assert len(tree(out)) == 5
    assert names(tmp_path) == ["out"]


def test_an_exchange_cut_between_two_renames_is_finished(tmp_path, monkeypatch):
    out = tmp_path / "out"
    assert bundle.write(of(3), out).ok
    (out / "notes.txt").write_text("mine")

    def cut(_, folder, old):
        folder.rename(old)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("astrac.bundle.writing.swap", cut)
        with pytest.raises(KeyboardInterrupt):
            bundle.write(of(2, "b"), out)
    assert not out.exists()
    assert bundle.write(of(1, "c"), out).ok
    assert sorted(tree(out)) == ["astra-sim-2/run.sh", "astra-sim-2/workload/x.0.et", "manifest.json", "notes.txt"]
    assert names(tmp_path) == ["out"]


def test_what_appears_in_the_old_folder_after_the_exchange_is_moved(tmp_path):
    out, old = tmp_path / "out", tmp_path / ".out.astrac-new"
    assert bundle.write(of(3), old).ok
    assert bundle.write(of(2), out).ok
    assert bundle.write(of(3), old).ok
    (old / "astra-sim-2/late").mkdir()
    (old / "astra-sim-2/late/log").write_text("late")
    assert bundle.write(of(1), out).ok
    assert tree(out)["astra-sim-2/late/log"] == "late"
    assert not old.exists()


def survives(write, moment):
    """Whether a child process ends a write, when SIGKILL meets it at its n-th event, from 0 up.

    Events are what Python's audit hooks tell of: files opened, linked, renamed and removed, folders made and read.
    """
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in {0, -signal.SIGKILL}
        return status == 0
    events = itertools.count()

    def kill(event, _):
        if event.partition(".")[0] in {"open", "os", "shutil", "fcntl", "ctypes"} and next(events) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    try:
        os._exit(not write().ok)
    finally:
        os._exit(2)


@pytest.mark.parametrize("able", [True, False])
def test_kill_at_any_moment_leaves_a_whole_bundle(tmp_path, monkeypatch, able):
    """On a file system that can exchange two folders and link files; and on one where the next build mends it."""
    out = tmp_path / "out"
    if not able:
        monkeypatch.setattr(writing, "_exchanged", lambda *_: False)
        monkeypatch.setattr(os, "link", unable)
    mine = {f"notes{number}.txt": "mine" for number in range(5)}  # before and after the manifest in any folder's order
    seen = set()
    for moment in itertools.count():
        assert bundle.write(of(3), out).ok
        for name, text in mine.items():
            (out / name).write_text(text)
        ended = survives(lambda: bundle.write(of(2, "b"), out), moment)
        seen.add(tuple(names(tmp_path)))
        if able:
            files = tree(out)
            (line, _) = json.loads(files.pop("manifest.json"))["files"]
            ranks, word = {"0-2": (3, "a"), "0-1": (2, "b")}[line["ranks"]]
            traces = {f"astra-sim-2/workload/x.{rank}.et": word * 10 for rank in range(ranks)}
            assert files == mine | traces | {"astra-sim-2/run.sh": word}
        assert bundle.write(of(1, "c"), out).ok
        files = tree(out)
        del files["manifest.json"]
        assert files == mine | {"astra-sim-2/workload/x.0.et": "c" * 10, "astra-sim-2/run.sh": "c"}
        assert names(tmp_path) == ["out"]
        if ended:
            break
    assert moment > 30  # three files and a manifest, their folders, the exchange, and the old ones' removal
    assert seen >= {("out",), (".out.astrac-new", "out")}
    assert able or seen >= {(".out.astrac-old", "out"), (".out.astrac-new", ".out.astrac-old")}


# -- changes by hand


def test_a_file_that_was_changed_by_hand_is_not_overwritten(tmp_path):
    out = tmp_path / "out"
    assert bundle.write(of(3), out).ok
    script = out / "astra-sim-2/run.sh"
    script.write_text("mine, and longer")
    result = bundle.write(of(3, "b"), out)
    assert codes(result) == ["AS793"]
    assert result.diagnostics[0].message.startswith(f"`astra-sim-2/run.sh` in `{out}` changed")
    assert "--overwrite" in result.diagnostics[0].hints[0]
    assert script.read_text() == "mine, and longer"
    assert names(tmp_path) == ["out"]
    assert bundle.write(of(3, "b"), out, overwrite=True).ok
    assert script.read_text() == "b"
    assert bundle.write(of(3), out).ok


def test_a_change_of_as_many_bytes_is_told_by_its_digest_and_linked_files_once(tmp_path):
    out = tmp_path / "out"
    assert bundle.write(of(3), out).ok
    built = (out / "manifest.json").stat().st_mtime_ns
    (out / "astra-sim-2/workload/x.1.et").write_text("c" * 10)
    os.utime(out / "astra-sim-2/workload/x.1.et", ns=(built, built + 1))
    (message,) = (finding.message for finding in bundle.write(of(3), out).diagnostics)
    assert message == f"`astra-sim-2/workload/x.0.et` in `{out}` changed since its build"


def test_files_that_are_younger_or_gone_are_no_change(tmp_path):
    out = tmp_path / "out"
    assert bundle.write(of(3), out).ok
    for path in out.rglob("*.et"):
        os.utime(path)
    (out / "astra-sim-2/run.sh").unlink()
    assert bundle.write(of(3), out).ok


def test_points_of_a_sweep_share_their_traces(tmp_path):
    """Three networks, one plan: the traces are there once, what a person may want to change three times."""
    spec = Path(__file__).parents[1] / "specs" / "gpt3_1024.astra"
    assert cli.main(["build", str(spec), "--profile", "smoke", "-o", str(tmp_path / "out")]) == 0
    assert cli.main(["build", str(spec), "--profile", "smoke", "--copy", "-o", str(tmp_path / "copy")]) == 0
    points = sorted((tmp_path / "out").iterdir())
    assert len(points) == 3
    files = [{path.relative_to(point): path.stat() for path in point.rglob("*.et")} for point in points]
    assert [len(each) for each in files] == [1024] * 3
    for path, status in files[0].items():
        assert {each[path].st_ino for each in files} == {status.st_ino}
        name = Path(points[0].name) / path
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert len({(point / "astra-sim-2/system.json").stat().st_ino for point in points}) == 3
    apart = {path.stat().st_ino for path in (tmp_path / "copy").rglob("*.et")}
    assert len(apart) == 3072
    blocks = []
    for top in (tmp_path / "out", points[0]):
        status = {each.st_ino: each.st_blocks for each in map(Path.stat, top.rglob("*"))}
        blocks.append(sum(status.values()))
    assert blocks[0] < 1.05 * blocks[1]
