"""The player against the real simulator: every row of the tables, every whole workload, to the nanosecond."""

import pytest

from astrac.simulators.astra_sim_2.simulate import simulate, simulate_congested
from astrac.simulators.astra_sim_2.simulate.by_rank import RankSimulation
from measured import by_rank, collectives, workloads

UNAWARE = list(collectives("golden_collectives.csv"))
AWARE = list(collectives("golden_aware_1d.csv"))
WORKLOADS = list(workloads())


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def finishes(case, found):
    cycles, exposed = by_rank(found, "cycles"), by_rank(found, "exposed")
    assert [cycles[rank] for rank in case.ranks] == case.cycles
    assert max(exposed[rank] for rank in case.ranks) == case.exposed_max


@named([case for case in UNAWARE if case.cycles])
def test_collectives_that_finish(case):
    found = simulate(case.job)
    assert (found.fails, found.doubt) == (None, None)
    finishes(case, found)


@named([case for case in UNAWARE if not case.cycles])
def test_collectives_that_do_not(case):
    assert simulate(case.job).fails


@named([case for case in AWARE if case.cycles])
def test_collectives_through_congested_links(case):
    finishes(case, simulate_congested(case.job))


def test_congested_links_know_one_dimension():
    refused = [simulate_congested(case.job).fails for case in AWARE if not case.cycles]
    assert refused == ["the congestion-aware backend knows one dimension only: it stops"]


@named(WORKLOADS)
def test_workloads(case):
    found = simulate(case.job)
    assert by_rank(found, "cycles") == case.cycles
    assert by_rank(found, "exposed") == case.exposed


@named(WORKLOADS)
def test_every_rank_message_by_message(case):
    every = RankSimulation(case.job)
    every.run()
    assert [rank.finish for rank in every.ranks] == case.cycles


def test_the_tables_are_whole():
    assert (len(UNAWARE), len(AWARE), len(WORKLOADS)) == (589, 81, 14)
    assert sum(case.cycles is not None for case in UNAWARE) == 549
