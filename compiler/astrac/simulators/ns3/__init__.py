"""Inputs of ASTRA-sim's ns-3 backend, read and checked."""
