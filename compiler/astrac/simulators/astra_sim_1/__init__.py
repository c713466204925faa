"""ASTRA-sim 1.0: text workload, system.txt, network.json. `simulator` is the door; README.md says what is where."""
