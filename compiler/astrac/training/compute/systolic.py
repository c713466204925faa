"""A systolic array: SCALE-Sim's compute cycles in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astrac.training.compute.cost import Cost, Work, whole_nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from astrac.models.model import Matmul
    from astrac.spec import Systolic

SPATIAL: dict[str, Callable[[int, int, int], tuple[int, int, int]]] = {
    "output_stationary": lambda m, n, k: (m, n, k),
    "weight_stationary": lambda m, n, k: (k, n, m),
    "input_stationary": lambda m, n, k: (k, m, n),
}
"""For (M, N, K): what lies along the rows, along the columns, and what streams through."""


def cycles(matmul: Matmul, rows: int, columns: int, dataflow: str) -> int:
    """Compute cycles that SCALE-Sim 3.0.0 reports (no stalls) for products (M x K) (K x N), one after the other.

    The product is cut into folds of the array's size; a partial fold costs as much as a full one. A fold takes the
    streamed length plus the skew (rows - 1) + (columns - 1), and `rows` more to load an operand that stays. The tool
    numbers cycles from 0 and reports the last number: one less a product.

    Args:
        matmul: (batch, M, N, K).
        rows: of processing elements.
        columns: of processing elements.
        dataflow: a key of `SPATIAL`.
    """
    batch, m, n, k = matmul
    along_rows, along_columns, streamed = SPATIAL[dataflow](m, n, k)
    folds = -(-along_rows // rows) * -(-along_columns // columns)
    load = 0 if dataflow == "output_stationary" else rows
    return batch * (folds * (load + streamed + rows - 1 + columns - 1) - 1)


def systolic(array: Systolic, rest: Cost) -> Cost:
    """Prices matrix products by the array's cycles and everything else (norms, optimizer) by `rest`.

    What is folded into a product's layer (bias, activation, softmax) runs in its shadow.

    Args:
        array: rows, columns, dataflow, clock in Hz.
        rest: for work without products.
    """

    def cost(work: Work) -> int:
        if not work.matmuls:
            return rest(work)
        total = sum(cycles(matmul, array.rows, array.columns, array.dataflow) for matmul in work.matmuls)
        return whole_nanoseconds(total / array.clock)

    return cost
