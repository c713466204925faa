"""Chains the passes: the only package that does, and what the command line calls.

    source -> parse -> resolve -> (a variant a point of the sweep) -> elaborate -> validate -> construct -> rules
           -> layers -> lower -> schedule -> verify -> estimate -> emit

Errors are collected inside a pass; between passes the chain stops when there are any. `checking` is the first line,
`compiling` the second; `estimating` says how long it takes.
"""
