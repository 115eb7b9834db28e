"""Pretrain the demo encoder: masked words on passages of two sentences, four in five of which tell
one scene.

    python -m tools.demo.pretrain --out DIR [--seed 0] [--threads 1] [--steps N]

Builds the vocabulary, trains a BertForMaskedLM and writes config, weights (float32, safetensors),
tokenizer and a README with the command, the seed, the duration and the digest of the weights. The
same command on the same machine writes the same bytes: text, masks and initial weights come from
named streams of the seed. There is no dropout.

Masked words alone never train BERT's pooler, so it gets a random orthogonal matrix and a zero bias:
as a linear map it keeps every length and angle of [CLS], and it prefers no direction.
"""

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from tools import pretraining
from tools.demo.corpus import passages, training_sentences
from tools.demo.vocabulary import word_counts, word_pieces
from tools.pretraining import CLS, PAD, SEP, masked, save, tokenizer_of

STEPS = 8000
BATCH = 64  # passages a step
RATE = 1e-3  # peak; linear warm-up over a tenth of the steps, then linear decay to zero
WHOLE_WORDS = 560
VOCABULARY = 800
# about 1/sqrt(WIDTH); with the 0.02 of wide models, masked words stay on the plateau of word
# frequencies
INIT = 0.08
LAYERS = 2
WIDTH = 128
HEADS = 4
POSITIONS = 64
# share of the pieces to be predicted: copying from the other sentence is learned sooner than at
# 0.15
MASKED = 0.25
POOL = 16  # batches that are drawn together and sorted by length, so that little is padded


def build_tokenizer() -> BertTokenizer:
    """A lower-casing WordPiece tokenizer in BERT's format, learned from 40,000 sentences of every
    pattern."""
    pieces = word_pieces(word_counts(training_sentences(40_000)), WHOLE_WORDS, VOCABULARY)
    return tokenizer_of(pieces, POSITIONS)


def build_model(
    seed: int, layers: int = LAYERS, width: int = WIDTH, vocabulary: int = VOCABULARY
) -> BertForPreTraining:
    """An untrained model whose weights depend on `seed` alone."""
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=4 * width,
        max_position_embeddings=POSITIONS,
        initializer_range=INIT,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForPreTraining(config)
        config.initializer_range = 0.02  # what whoever adds layers to the trained model shall use
        torch.nn.init.orthogonal_(model.bert.pooler.dense.weight)
    return model


class Encoding:
    """Turns sentences into ids, remembering each word's pieces (the text has under a thousand
    words)."""

    def __init__(self, tokenizer: BertTokenizer):
        self._tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {}

    def ids(self, sentence: str) -> list[int]:
        """The ids of one sentence without [CLS] and [SEP]."""
        result = []
        for word in sentence.split():
            if word not in self._pieces:
                self._pieces[word] = self._tokenizer(word, add_special_tokens=False)["input_ids"]
            result.extend(self._pieces[word])
        return result


def batches(seed: int, encode: Encoding, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield (ids, type ids), both (size, length) and padded with [PAD], for ever."""
    stream = passages(seed)
    order = random.Random(f"demo batch order {seed}")
    while True:
        rows = []
        for _ in range(POOL * size):
            first, second = map(encode.ids, next(stream))
            rows.append(([CLS, *first, SEP, *second, SEP][:POSITIONS], len(first) + 2))
        rows.sort(key=lambda row: len(row[0]))
        chunks = [rows[i : i + size] for i in range(0, len(rows), size)]
        order.shuffle(chunks)
        for chunk in chunks:
            longest = len(chunk[-1][0])
            ids = torch.tensor([row + [PAD] * (longest - len(row)) for row, _ in chunk])
            starts = torch.tensor([start for _, start in chunk])
            types = (torch.arange(longest)[None, :] >= starts[:, None]) & (ids != PAD)
            yield ids, types.long()


def train(model: BertForPreTraining, encode: Encoding, seed: int, steps: int, report=None) -> None:
    """Train the model in place; `report(step, loss)` is called every hundred steps."""
    generator = torch.Generator().manual_seed(seed + 1)
    stream = batches(seed, encode, BATCH)

    def loss(step: int) -> torch.Tensor:
        ids, types = next(stream)
        corrupted, chosen = masked(ids, model.config.vocab_size, MASKED, generator)
        hidden = model.bert(
            corrupted, attention_mask=ids != PAD, token_type_ids=types
        ).last_hidden_state
        logits = model.cls.predictions(hidden[chosen])  # (chosen, vocabulary)
        value = torch.nn.functional.cross_entropy(logits, ids[chosen])
        if report and step % 100 == 0:
            report(step, value.item())
        return value

    pretraining.fit(model, steps, RATE, loss)


README = """\
# The demo encoder

A small BERT ({layers} layers, {width} wide, {vocabulary} word pieces) for the demo scale, in Hugging Face's format, pretrained on
generated English by masked words alone, on passages of two sentences of which four in five tell one scene. The
masked-word head is kept. The pooler was not trained: it is a random orthogonal matrix with a zero bias.

    command   python -m tools.demo.pretrain --out core/assets/demo/encoder --seed {seed} --threads {threads}
    seed      {seed}
    steps     {steps} of {batch} passages
    time      {minutes:.0f} minutes on {threads} thread(s), torch {torch}
    sha256    {digest}  model.safetensors

The same command on the same machine writes the same bytes; another processor may round differently.
"""


def main() -> None:
    """Pretrain as the command line asks, and print the loss, the time and the digest."""
    parser = argparse.ArgumentParser(description="Pretrain the encoder of the demo scale.")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of torch; the digest holds for a given number",
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="fewer for a trial")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    begin = time.monotonic()
    tokenizer = build_tokenizer()
    model = build_model(arguments.seed, vocabulary=len(tokenizer))

    def report(step: int, loss: float) -> None:
        print(f"step {step}  loss {loss:.3f}  {time.monotonic() - begin:.0f} s", flush=True)

    train(model, Encoding(tokenizer), arguments.seed, arguments.steps, report)
    digest = save(model, tokenizer, arguments.out, torch.float32)
    readme = README.format(
        layers=LAYERS,
        width=WIDTH,
        vocabulary=len(tokenizer),
        seed=arguments.seed,
        threads=arguments.threads,
        steps=arguments.steps,
        batch=BATCH,
        minutes=(time.monotonic() - begin) / 60,
        torch=torch.__version__,
        digest=digest,
    )
    (arguments.out / "README.md").write_text(readme)
    print(f"{digest}  {arguments.out / 'model.safetensors'}")


if __name__ == "__main__":
    main()
