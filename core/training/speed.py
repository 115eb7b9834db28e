"""How fast this machine's CPU trains, for plans: `python -m core.training.speed JSON` prints seconds
a token. Steps of SimCSE with random weights are timed once and kept for this processor and version
of torch."""

import json
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path

from core.encoder.processor import processor
from core.store.cache import kept

SECONDS = 2.0  # of timed steps


def main(setting: dict) -> float:
    """Seconds for each token of the text, from the folder `cache` or timed."""
    cache = Path(setting["cache"])
    setting = {name: value for name, value in setting.items() if name != "cache"}
    key = {**setting, "processor": processor(), "torch": metadata.version("torch")}

    def load(content: bytes) -> float:
        return float(json.loads(content))

    return kept(cache, key, lambda: seconds_a_token(**setting), load=load)


def seconds_a_token(
    encoder: dict[str, int], precision: str, threads: int, batch: int, length: int
) -> float:
    """Median seconds of a step over the tokens of its batch, `batch` sentences of `length` tokens.
    `encoder` has sizes by transformers' names."""
    import numpy as np  # here, since what is kept can be read without torch
    import torch
    from transformers import BertConfig, BertModel

    from core.config.methods import base
    from core.config.vary import vary
    from core.encoder.bert import Encoder
    from core.encoder.packing import pack
    from core.methods.simcse.model import SimCSE
    from core.training.optimiser import adamw
    from core.training.step import step_for

    torch.set_num_threads(threads)
    clock = time.monotonic
    if threads == 1:
        clock = time.process_time  # which does not count other programs
    config = vary(base("simcse", "paper"), {"train.precision": precision})
    cpu = torch.device("cpu")
    drawn = np.random.default_rng(0)
    bert = BertModel(BertConfig(**encoder, attn_implementation="eager"))
    wrapped = Encoder(bert, hidden_dropout=0.1, attention_dropout=0.1)
    model = SimCSE(config, wrapped, cpu).train()
    step = step_for(config.train, model, adamw(config.train, model, model.new_layers()), cpu)
    taken = [0.0]
    while len(taken) < 4 or sum(taken[2:]) < SECONDS:  # the first step warms up
        sentences = [drawn.integers(0, encoder["vocab_size"], length) for _ in range(batch)]
        began = clock()
        step((pack(sentences + sentences),), config.train.learning_rate)
        taken.append(clock() - began)
    return statistics.median(taken[2:]) / (batch * length)


if __name__ == "__main__":
    print(main(json.loads(sys.argv[1])))
