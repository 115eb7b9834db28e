"""SimCSE alone: its gain over the untrained encoder is the bar by which other methods count as
learning."""

from core.study.study import SIMCSE

STUDY = SIMCSE
