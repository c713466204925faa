"""Files -> Job: any 2.x bundle, ours or another tool's, as the simulator will see it.

`files` says which file plays which role, `documents` and `decode` read texts and traces, and `reading` opens all of
them safely and makes a Job of what they say: `read` wants the Job and takes nothing less, `examine` reads on after
errors and keeps all that the files say.
"""
