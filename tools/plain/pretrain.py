"""Make the plain encoder: learn a vocabulary, then train a BERT from random weights on masked words.

    python -m tools.plain.pretrain --text english.txt --out DIR [--steps N] [--tokenizer DIR] …

Writes config, weights (float16, safetensors), tokenizer and losses.csv, and prints the digest of
the weights. The training reads the text alone: no other model, no pairs of sentences, nothing
contrastive. The library that learns the vocabulary breaks ties at random, so two vocabularies
differ in a few pieces. With the `--tokenizer` of one folder, the same command on the same CPU
writes the same bytes.

The pooler is never trained and keeps its random weights.
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer
from torch import Tensor
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from tools import pretraining
from tools.pretraining import PAD, SPECIALS, masked, save, tokenizer_of

PIECES = 14_000
FEWEST = 5  # occurrences of what becomes a piece
ALPHABET = 200  # characters that are pieces; the rarer ones are unknown
STEPS = 5_302  # some 20 passes over english.txt
PLACES = 49_152  # of a step, [PAD] among them
RATE = 1.5e-3  # peak; linear warm-up over a twentieth of the steps, then linear decay to zero
WARMUP = 0.05
MASKED = 0.15  # share of the pieces to be predicted
POSITIONS = 128
LENGTHS = (16, 24, 32, 40, 64)  # that sentences are padded to; longer ones are cut
HELD_OUT = 2_000  # sentences that are not trained on
SCORED = 512  # of these, of each length
LOGGED = 250  # steps a row of losses.csv is the mean over


def learned(text: Path, size: int = PIECES) -> BertTokenizer:
    """A lower-casing tokenizer with a WordPiece vocabulary of the text, specials first."""
    learner = BertWordPieceTokenizer(lowercase=True)
    learner.train(
        [str(text)],
        vocab_size=size,
        min_frequency=FEWEST,
        limit_alphabet=ALPHABET,
        special_tokens=list(SPECIALS),
        show_progress=False,
    )
    places = learner.get_vocab()
    return tokenizer_of(sorted(places, key=lambda piece: places[piece]), POSITIONS)


def by_length(sentences: Iterable[list[int]], device: str) -> list[Tensor]:
    """Sentences, as ids, in a tensor (N, length) for each of LENGTHS that has any, with [PAD]."""
    rows: dict[int, list[list[int]]] = {length: [] for length in LENGTHS}
    for ids in sentences:
        length = next(length for length in LENGTHS if len(ids) <= length)
        rows[length].append(ids + [PAD] * (length - len(ids)))
    return [torch.tensor(ids, dtype=torch.int32, device=device) for ids in rows.values() if ids]


def batches(groups: list[Tensor], places: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Batches (B, length) of one length and at most `places` places, without end. Each pass has
    every sentence once, in a new order."""
    while True:
        chunks: list[Tensor] = []
        for ids in groups:
            order = torch.randperm(len(ids), generator=generator, device=ids.device)
            chunks += ids[order].split(max(1, places // ids.shape[1]))
        for place in torch.randperm(len(chunks), generator=generator, device=groups[0].device):
            yield chunks[place].long()


def masked_loss(model: BertForPreTraining, ids: Tensor, generator: torch.Generator) -> Tensor:
    """The cross-entropy of masked words; on a GPU through bf16."""
    corrupted, chosen = masked(ids, model.config.vocab_size, MASKED, generator)
    kind = ids.device.type
    with torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda"):
        output = model.bert(input_ids=corrupted, attention_mask=(ids != PAD).long())
        logits = model.cls.predictions(output.last_hidden_state[chosen])  # (chosen, vocabulary)
    return F.cross_entropy(logits.float(), ids[chosen])


def train(
    model: BertForPreTraining,
    groups: list[Tensor],
    held_out: list[Tensor],
    steps: int,
    places: int,
    generator: torch.Generator,
    log: Path,
) -> None:
    """Train the model in place. A row of the log is the mean loss since the last row, and the loss
    of the sentences that are held out."""
    stream = batches(groups, places, generator)
    log.write_text("step,masked_words,held_out\n")
    since: list[Tensor] = []

    def loss(step: int) -> Tensor:
        value = masked_loss(model, next(stream), generator)
        since.append(value.detach())
        if step % LOGGED == 0 or step == steps:
            with torch.no_grad():
                others = [masked_loss(model, ids[:SCORED].long(), generator) for ids in held_out]
            means = [torch.stack(losses).mean().item() for losses in (since, others)]
            since.clear()
            row = ",".join([str(step), *(f"{mean:.4f}" for mean in means)])
            print(row, flush=True)
            with log.open("a") as out:
                out.write(f"{row}\n")
        return value

    pretraining.fit(model, steps, RATE, loss, warmup=WARMUP, betas=(0.9, 0.98), fused=True)


def main() -> None:
    """Learn the vocabulary and train as the command line asks; print losses and digest."""
    parser = argparse.ArgumentParser(description="Make the plain encoder.")
    parser.add_argument("--text", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--tokenizer", type=Path, help="an encoder's folder; its pieces are taken")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--inner", type=int, default=1024, help="feed-forward neurons of a layer")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--places", type=int, default=PLACES, help="of a step")
    parser.add_argument("--sentences", type=int, help="read this many alone, for a trial")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)

    # The text
    if options.tokenizer:
        tokenizer = BertTokenizer.from_pretrained(options.tokenizer)
    else:
        tokenizer = learned(options.text)
    with options.text.open(encoding="utf-8") as file:
        lines = itertools.islice(map(str.strip, file), options.sentences)
        sentences = [line for line in lines if line]
    random.Random(options.seed).shuffle(sentences)
    ids = tokenizer(sentences, truncation=True, max_length=LENGTHS[-1])["input_ids"]
    held_out = min(HELD_OUT, len(ids) // 10)

    # The model
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.width,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        intermediate_size=options.inner,
        max_position_embeddings=POSITIONS,
    )
    model = BertForPreTraining(config).to(options.device)
    options.out.mkdir(parents=True, exist_ok=True)
    train(
        model,
        by_length(ids[held_out:], options.device),
        by_length(ids[:held_out], options.device),
        options.steps,
        options.places,
        torch.Generator(options.device).manual_seed(options.seed),
        options.out / "losses.csv",
    )
    digest = save(model.cpu(), tokenizer, options.out, torch.float16)
    print(f"{digest}  {options.out / 'model.safetensors'}")


if __name__ == "__main__":
    main()
