"""Every stage of every example, for reading: what a spec becomes.

A spec of more than 600 trace nodes a stage keeps the goldens of its `smoke` profile, and digests of the whole.
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from astrac.api.checking import Options
from astrac.api.compiling import compile_data
from astrac.api.estimating import Estimated, as_csv
from astrac.api.evaluating import with_figures
from astrac.api.rows import Row, Setting
from astrac.bundle import json_text
from astrac.language.document import to_json
from astrac.simulators.astra_sim_2.chakra import to_text
from astrac.training.plan import Communicate, Computation, Remote, Transfer

ROOT = Path(__file__).parents[1]
SPECS = sorted((ROOT / "specs").glob("*.astra"))
NODES = 600


def compiled(path, profile):
    results = compile_data(f"specs/{path.name}", path.read_bytes(), Options(profile=profile))
    assert [finding for result in results for finding in result.diagnostics if finding.is_error] == []
    return [result.value for result in results]


def content(artifact):
    return b"".join(artifact.contents())


def stages(variant):
    """File name -> text of everything that a person would read."""
    texts = {
        "elaborated.json": to_json(variant.document.tree) + "\n",
        "plan.txt": plan_text(replace(variant.plan, programs=ends(variant.plan.programs))),
        "estimate.json": json_text(variant.estimate.as_json()),
    }
    seen, last = set(), len(variant.job.programs) - 1
    for artifact in variant.bundle.artifacts:
        name = artifact.path.removeprefix("astra-sim-2/").replace("astra-sim-1/", "text-").replace("workload/", "")
        if not artifact.path.endswith(".et"):
            texts.setdefault(name, content(artifact).decode())
        elif (program := program_of(variant, artifact.ranks[0])) in (0, last) and program not in seen:
            seen.add(program)
            texts[name.replace("{rank}", str(artifact.ranks[0])).replace(".et", ".et.txt")] = (
                "\n".join(to_text(content(artifact))) + "\n"
            )
    return texts


def plan_text(plan):
    """The steps of every program, a line each: id, what, why, and what it waits for."""
    lines = [f"axes: {', '.join(f'{axis.name} {axis.size} (stride {axis.stride})' for axis in plan.axes)}"]
    for program in plan.programs:
        lines += ["", f"{program.name}:"]
        lines += [step_text(step) for step in program.steps]
    return "\n".join(lines) + "\n"


def step_text(step):
    waits = f"needs {' '.join(map(str, step.needs))}" if step.needs else ""
    if step.after:
        waits += f"{', ' if waits else ''}after {' '.join(map(str, step.after))}"
    batch = "" if step.micro_batch is None else f" m{step.micro_batch}"
    where = f"{step.layer}, {step.phase.value}{batch}" + (f" i{step.iteration}" if step.iteration else "")
    return f"{step.id:5} {action_text(step):<60} {where:<48} {waits}".rstrip()


def action_text(step):
    match step.action:
        case Computation(flops, moved, time):
            return f"compute {time:,} ns, {flops:,} FLOP, {moved:,} B"
        case Communicate(kind, size, axes, only):
            some = f" of {list(only)}" if only else ""
            return f"{kind.name.lower()} {size:,} B over {' x '.join(axes)}{some}"
        case Transfer(axis, offset, size, tag, send):
            return f"{'send' if send else 'receive'} {size:,} B, {axis} {offset:+}, tag {tag}"
        case Remote(size, store):
            return f"{'store' if store else 'load'} {size:,} B"


def ends(programs):
    """The first and the last: the stages between them differ in nothing that a reader would look for."""
    return programs if len(programs) < 3 else (programs[0], programs[-1])


def program_of(variant, rank):
    return next(members.program for members in variant.job.classes if rank in set(variant.job.ranks(members)))


def digests(variant):
    """Of what is too long to read."""
    whole = {artifact.path: hashlib.sha256(content(artifact)).hexdigest() for artifact in variant.bundle.artifacts[:20]}
    whole["plan"] = hashlib.sha256(plan_text(variant.plan).encode()).hexdigest()
    return "".join(f"{digest}  {path}\n" for path, digest in sorted(whole.items()))


def row(variant):
    """Of a point, with the values of its sweep as they are written."""
    settings = tuple(Setting(key, text) for key, text in variant.document.point)
    return with_figures(Row(name=variant.name, settings=settings), variant.estimate)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_stages(path, golden):
    smoke = "smoke" if b"\nprofile smoke" in path.read_bytes() else None
    variants = compiled(path, smoke)
    texts = stages(variants[0])
    if len(variants) > 1:
        texts["estimates.csv"] = as_csv([Estimated(each.name, row(each), each.estimate, ()) for each in variants])
    if max(len(program.ops) for program in variants[0].job.programs) > NODES:
        texts = {name: text for name, text in texts.items() if name != "plan.txt" and not name.endswith(".et.txt")}
        texts["digests.txt"] = digests(variants[0])
    golden(ROOT / "tests" / "golden" / path.stem, texts)
