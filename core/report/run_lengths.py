"""How long a run is, and how far its queue and slow branch lag behind, against the paper's run."""

import functools
import math

from core.config.run import RunConfig

PAPER_SENTENCES = 1_000_000  # that a run of the papers reads
MOST_LAG = 3.0  # times the paper's
LEAST_LENGTH = 1 / 3  # of the paper's


def turnover(run: RunConfig) -> float:
    """Share of the run until every entry of its queue has been replaced once; 0 without a queue."""
    return math.ceil(run.queue_size / run.train.batch_size) / run.train.steps


@functools.cache  # a product over half of a run's steps, for every cell of every study
def initial_share(run: RunConfig) -> float:
    """Share of the initial weights left in the slow branch at half of the run."""
    return run.initial_share(run.train.steps // 2)


def lag(run: RunConfig, paper: RunConfig) -> float:
    """Lag of slow branch and queue over the paper's: rate x (1 / (1 - decay) + queue / batch)."""
    memory = 1.0
    if paper.memory not in (0.0, run.memory):
        memory = run.memory / paper.memory
    return _fastest(run) / _fastest(paper) * memory


def _fastest(run: RunConfig) -> float:
    """The learning rate of the layers that learn fastest."""
    return run.train.learning_rate * max(1.0, run.train.new_layer_factor)


def length(run: RunConfig, paper: RunConfig) -> float:
    """How far a run's weights can move, over the paper's: rate x steps x batch."""
    sentences = run.train.steps * run.train.batch_size / PAPER_SENTENCES
    return sentences * run.train.learning_rate / paper.train.learning_rate


def passes(run: RunConfig) -> float:
    """How often a run reads its training text."""
    return run.train.steps * run.train.batch_size / run.data.rows


def too_few_steps(run: RunConfig, paper: RunConfig) -> bool:
    """Whether no learning rate meets the limits of lag and length in a run of so few steps.

    Both grow with the rate: the rate of the largest lag allowed leaves the run too short.
    """
    return length(run, paper) * MOST_LAG < LEAST_LENGTH * lag(run, paper)
