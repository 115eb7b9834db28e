"""The columns of a study's CSV files beside its axes, whose names no axis may have."""

COLUMNS = frozenset(
    """
    scale profile encoder mean ci95_low ci95_high n sd printed reference paired_difference
    paired_ci95_low paired_ci95_high paired_n printed_difference tested_low tested_high tested_n
    different values failed_seeds printed_runs status metric unit unavailable source run_ids seed
    run_id checkpoint step value x trained_rate
    """.split()
)
