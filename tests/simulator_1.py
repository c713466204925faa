"""Inputs of ASTRA-sim 1.0 and what the simulator (commit 07d5d19, analytical backend) made of them."""

import csv
import json
from pathlib import Path

from astrac.simulators.astra_sim_1.check import judge
from astrac.simulators.astra_sim_1.check_files import check_network
from astrac.simulators.astra_sim_1.job import TextJob
from astrac.simulators.astra_sim_1.options import apply_options
from astrac.simulators.astra_sim_1.read_network import read_network
from astrac.simulators.astra_sim_1.read_system import read_system
from astrac.simulators.astra_sim_1.read_workload import read_workload
from astrac.source import Source

FOLDER = Path(__file__).parent / "simulator_v1"

INPUTS = json.loads((FOLDER / "inputs.json").read_text())
MEASURED = json.loads((FOLDER / "measured.json").read_text())
BAD = json.loads((FOLDER / "bad_inputs.json").read_text())

with (FOLDER / "golden.csv").open() as lines:
    GOLDEN = list(csv.DictReader(lines))


def examine(workload, system, network, passes=1, compute_scale=1.0, comm_scale=1.0, queues=1, args=()):
    """The job of three texts (None when an error stands in its way), and all that is found."""
    results = [
        read(Source(name, text))
        for read, name, text in (
            (read_workload, "workload.txt", workload),
            (read_system, "system.txt", system),
            (read_network, "network.json", network),
        )
    ]
    found = [finding for result in results for finding in result.diagnostics]
    if any(finding.is_error for finding in found):
        return None, found
    job = TextJob(
        results[2].value, results[1].value, results[0].value, passes, compute_scale, comm_scale, queues=queues
    )
    if args:
        result = apply_options(job, args)
        found += result.diagnostics
        if result.value is None:
            return None, found
        job = result.value
        found += check_network(job.network)
    found += judge(job)
    return None if any(finding.is_error for finding in found) else job, found


def golden_texts(row):
    """The three texts that a golden row names."""
    network = json.dumps(INPUTS["network"][row["network"]])
    return INPUTS["workload"][row["workload"]], INPUTS["system"][row["system"]], network


def bad_texts(entry):
    """The three texts of an entry: the first one's, with the entry's changes laid over them; null takes a key away."""
    base = BAD[0]
    system, network = entry.get("system", {}), entry.get("network", {})
    if isinstance(system, dict):
        pairs = dict(line.split(": ") for line in base["system"].splitlines()) | system
        system = "".join(f"{key}: {value}\n" for key, value in pairs.items() if value is not None)
    if isinstance(network, dict):
        pairs = json.loads(base["network"]) | network
        network = json.dumps({key: value for key, value in pairs.items() if value is not None})
    return entry.get("workload", base["workload"]), system, network
