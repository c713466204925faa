"""Words of the command line, where importing what they stand for would cost too much at start-up."""

from __future__ import annotations

KINDS = (
    "trace",
    "network",
    "network-1",
    "system",
    "system-1",
    "memory",
    "ns3-logical",
    "ns3-topology",
    "ns3-config",
    "workload-1",
    "groups",
    "custom-table",
)
"""Of ASTRA-sim's files, as `simulators.recognise.KINDS` has them."""

BACKENDS = ("congestion_unaware", "congestion_aware", "ns3")
"""As `verify.BACKENDS` has them."""
