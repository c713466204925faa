"""Files -> Job: any 2.x bundle, ours or another tool's, as the simulator will see it.

`files` says which file plays which role, `documents` and `decode` read texts and traces, `traces` opens those of all
ranks safely and makes a Job of what they say, and `reading` is all of it in order: `read` wants the Job and takes
nothing less, `examine` reads on after errors and keeps all that the files say.
"""
