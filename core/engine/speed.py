"""How fast this machine's CPU trains, for plans: steps of SimCSE with random weights are timed once and kept. A process of its own.

    python -m core.engine.speed JSON    prints the seconds for each token of the text
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
from importlib import metadata
from pathlib import Path

from core.engine.processor import processor
from core.store import files

SECONDS = 2.0  # of timed steps, after one that warms up
OPERATIONS = 1.5e11  # of a step at most: a second or two on a core


def main(asked: dict) -> float:
    """Seconds for each token, from the cache file `cache` or timed. It holds for this processor and this version of torch."""
    cache = Path(asked.pop("cache"))
    key = json.dumps({**asked, "processor": processor(), "torch": metadata.version("torch")}, sort_keys=True)
    kept: dict[str, float] = {}
    with contextlib.suppress(OSError, ValueError):
        kept = dict(json.loads(files.content(cache, 1 << 20)))
    if key not in kept:
        kept[key] = seconds(**asked)
        files.write_whole(cache, json.dumps(kept, indent=1).encode())
    return float(kept[key])


def seconds(encoder: list[int], precision: str, threads: int, length: int) -> float:
    """Median seconds of a step for each token of its sentences, which all have `length` tokens. `encoder`: layers, hidden, intermediate,
    heads, vocabulary."""
    import numpy as np  # here, since reading the cache needs no torch
    import torch
    from transformers import BertConfig, BertModel

    from core.engine.encoder.bert import from_pretrained
    from core.engine.encoder.packing import pack
    from core.engine.optimiser import adamw
    from core.engine.trainer import precision as in_precision
    from core.methods.simcse.model import SimCSE
    from core.spec.profiles import base
    from core.spec.vary import vary

    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.monotonic  # a thread's own time does not count what other programs do
    cpu, (layers, hidden, intermediate, heads, vocabulary) = torch.device("cpu"), encoder
    size = {"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": intermediate, "num_attention_heads": heads}
    bert = BertModel(BertConfig(**size, vocab_size=vocabulary, attn_implementation="eager"))
    config = vary(base("simcse", "paper"), {"train.precision": precision})
    wrapped = from_pretrained(bert, hidden_dropout=0.1, attention_dropout=0.1, attention=config.encoder.attention)
    model = SimCSE(config, wrapped, cpu).train()
    optimiser = adamw(config.train, model, model.new_layers())
    batch = max(4, min(64, int(OPERATIONS / (12 * layers * (4 * hidden**2 + 2 * hidden * intermediate) * length))))
    drawn = np.random.default_rng(0)
    taken: list[float] = []
    while len(taken) < 4 or sum(taken[1:]) < SECONDS:
        sentences = [drawn.integers(0, vocabulary, length) for _ in range(batch)]
        began = clock()
        with in_precision(config.train, cpu):
            loss = model.loss(pack(sentences + sentences))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.train.clip_norm)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        taken.append(clock() - began)
    return statistics.median(taken[1:]) / (batch * length)


if __name__ == "__main__":
    print(main(json.loads(sys.argv[1])))
