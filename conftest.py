"""For every test, of tests, tools and benchmarks: one thread each, and what several of them use."""

import os
import sys
from pathlib import Path

# Several processes test at once; more threads than cores wait for each other and make a step ten times as slow.
os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT)]
