"""Studies of MoCoSE, in the paper's order: one file a table or figure."""

from core.spec.study import Study
from studies.mocose import (
    figure2,
    figure3,
    figure4,
    figure5,
    figure7,
    figure12,
    figure13,
    kmeans,
    table1,
    table2,
    table3,
    table4,
    table5,
    table6a,
    table6b,
    table7,
    table8,
    table9,
)  # fmt: skip

STUDIES: tuple[Study, ...] = tuple(
    module.STUDY for module in (
        table1, table2, table3, table4, table5, table6a, table6b, table7, table8, table9, figure2, figure3, figure4,
        figure5, figure7, figure12, figure13, kmeans,
    )
)  # fmt: skip
