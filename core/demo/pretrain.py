"""Pretrain the demo encoder: masked words on passages of two sentences, four in five of which tell one scene.

    python -m core.demo.pretrain --out DIR [--seed 0] [--threads 1] [--steps N]

Builds the vocabulary, trains a BertForMaskedLM and writes config, weights (float32, safetensors), tokenizer and a README
with the command, the seed, the duration and the digest of the weights. The same command on the same machine writes the
same bytes: text, masks and initial weights come from named streams of the seed, and dropout from torch's own stream,
seeded inside a scope that restores it.

Masked words alone never train BERT's pooler, so it gets a random orthogonal matrix and a zero bias: as a linear map it
keeps every length and angle of [CLS], and it prefers no direction.
"""

import argparse
import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertForPreTraining, BertTokenizer

from core.demo.corpus import passages, training_sentences
from core.demo.vocabulary import SPECIALS, word_counts, word_pieces

STEPS = 8000
BATCH = 64  # passages a step
RATE = 1e-3  # peak; linear warm-up over a tenth of the steps, then linear decay to zero
WHOLE_WORDS, VOCABULARY = 560, 800
INIT = 0.08  # about 1/sqrt(WIDTH); with the 0.02 of wide models, masked words stay on the plateau of word frequencies
LAYERS, WIDTH, HEADS, POSITIONS = 2, 128, 4, 64
MASKED = 0.25  # share of the pieces to be predicted: copying from the other sentence is learned sooner than at 0.15
DROPOUT = 0.0  # the text never repeats, so there is nothing to guard against; the shipped configuration has BERT's 0.1
POOL = 16  # batches that are drawn together and sorted by length, so that little is padded
PAD, UNK, CLS, SEP, MASK = range(len(SPECIALS))


def build_tokenizer() -> BertTokenizer:
    """Return a lower-casing WordPiece tokenizer in BERT's format, learned from 40,000 sentences of every pattern."""
    pieces = word_pieces(word_counts(training_sentences(40_000, plain=0.0)), WHOLE_WORDS, VOCABULARY)
    return BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, do_lower_case=True, model_max_length=POSITIONS)


def build_model(seed: int, layers: int = LAYERS, width: int = WIDTH, vocabulary: int = VOCABULARY) -> BertForPreTraining:
    """Return an untrained model whose weights depend on `seed` alone."""
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
    """Turns sentences into ids, remembering each word's pieces (the text has under a thousand words)."""

    def __init__(self, tokenizer: BertTokenizer):
        self._tokenizer = tokenizer
        self._pieces: dict[str, list[int]] = {}

    def ids(self, sentence: str) -> list[int]:
        """Return the ids of one sentence without [CLS] and [SEP]."""
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
            first, second = (encode.ids(s) for s in next(stream))
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


def masked(ids: torch.Tensor, generator: torch.Generator, rate: float = MASKED) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (corrupted ids, chosen positions): BERT's rule, 80 % [MASK], 10 % a random piece, 10 % left as they are."""
    chosen = (torch.rand(ids.shape, generator=generator) < rate) & (ids >= len(SPECIALS))
    fate = torch.rand(ids.shape, generator=generator)
    noise = torch.randint(len(SPECIALS), VOCABULARY, ids.shape, generator=generator)
    corrupted = torch.where(chosen & (fate < 0.8), torch.full_like(ids, MASK), ids)
    return torch.where(chosen & (fate >= 0.9), noise, corrupted), chosen


def train(model: BertForPreTraining, encode: Encoding, seed: int, steps: int, report=None) -> None:
    """Train the model in place; `report(step, loss)` is called every hundred steps."""
    generator = torch.Generator().manual_seed(seed + 1)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min((step + 1) / (0.1 * steps), (steps - step) / (0.9 * steps)))
    stream = batches(seed, encode, BATCH)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = DROPOUT
    with torch.random.fork_rng():
        torch.manual_seed(seed + 2)
        for step in range(1, steps + 1):
            ids, types = next(stream)
            corrupted, chosen = masked(ids, generator)
            hidden = model.bert(corrupted, attention_mask=ids != PAD, token_type_ids=types).last_hidden_state
            logits = model.cls.predictions(hidden[chosen])  # (chosen, vocabulary)
            loss = torch.nn.functional.cross_entropy(logits, ids[chosen])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if report and step % 100 == 0:
                report(step, loss.item())
    model.eval()


def save(model: BertForPreTraining, tokenizer: BertTokenizer, out: Path) -> str:
    """Write config, weights and tokenizer; return the SHA-256 of the weights file.

    The weights are BERT's body with the pooler, and the masked-word head; the untrained sentence-order head is left out.
    """
    model.config.architectures = ["BertForMaskedLM"]
    tied = "cls.predictions.decoder."  # the same tensors as the word embeddings and the head's bias
    kept = {
        name: tensor.contiguous() for name, tensor in model.state_dict().items() if not name.startswith(("cls.seq_relationship.", tied))
    }
    out.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(out)
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(out)
    return hashlib.sha256((out / "model.safetensors").read_bytes()).hexdigest()


README = """\
# The demo encoder

A small BERT ({layers} layers, {width} wide, {vocabulary} word pieces) for the demo scale, in Hugging Face's format, pretrained on
generated English by masked words alone, on passages of two sentences of which four in five tell one scene. The
masked-word head is kept. The pooler was not trained: it is a random orthogonal matrix with a zero bias.

    command   python -m core.demo.pretrain --out core/demo/encoder --seed {seed} --threads {threads}
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
    parser.add_argument("--threads", type=int, default=1, help="threads of torch; the digest holds for a given number")
    parser.add_argument("--steps", type=int, default=STEPS, help="fewer for a trial")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    begin = time.monotonic()
    tokenizer = build_tokenizer()
    model = build_model(arguments.seed, vocabulary=len(tokenizer))
    train(
        model,
        Encoding(tokenizer),
        arguments.seed,
        arguments.steps,
        lambda step, loss: print(f"step {step}  loss {loss:.3f}  {time.monotonic() - begin:.0f} s", flush=True),
    )
    digest = save(model, tokenizer, arguments.out)
    (arguments.out / "README.md").write_text(
        README.format(
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
    )
    print(f"{digest}  {arguments.out / 'model.safetensors'}")


if __name__ == "__main__":
    main()
