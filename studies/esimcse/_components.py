"""ESimCSE's two parts, alone and together, beside SimCSE: the rows of Tables 6 and 7."""

from core.study.study import Row

BASELINE = "unsup-SimCSE"
REPETITION = "+word repetition"
QUEUE = "+momentum contrast"
BOTH = "ESimCSE"
COMPONENTS = {
    BASELINE: Row(method="simcse"),
    REPETITION: Row({"queue": None, "momentum": None}),
    QUEUE: Row({"dup": None}),
    BOTH: Row(),
}
