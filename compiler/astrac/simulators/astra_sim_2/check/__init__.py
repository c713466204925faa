"""Whether the simulator would run a Job to its end, and as what its files say.

`files` looks at one text by itself, `bundle` at files that run together, `job` at what they say: `nodes` and
`collectives` find what single nodes and counts show, then the Job is simulated to its end. `evidence` tells where
findings are shown.
"""
