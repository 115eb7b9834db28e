"""Studies of ESimCSE, in the paper's order: one file a table or figure."""

from core.spec.study import Study
from studies.esimcse import (
    figure2,
    table1,
    table2,
    table3,
    table4,
    table5,
    table6,
    table7,
    table8,
    table9,
    table10,
    table11,
)  # fmt: skip

STUDIES: tuple[Study, ...] = tuple(
    module.STUDY for module in (
        table1, table2, table3, figure2, table4, table5, table6, table7, table8, table9, table10, table11,
    )
)  # fmt: skip
