"""The training step: layers cut by the strategies of parallelism, priced, and lowered to a Plan."""
