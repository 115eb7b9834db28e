"""The authors' own MoCoSE on scale mini's encoder, from end to end: does it come out as profile `released`
does?

    python -m benchmarks.authors --code CLONE --data-dir DATA --out authors.csv [--seed 0] [--steps 1280]

CLONE is a checkout of https://github.com/xbdxwyh/mocose, of which `mocose.py` is used as it is: model, loss,
queue, EMA and FGSM. The optimiser and its schedule are those of transformers 4, which the authors used (`pip
install -r benchmarks/requirements-authors.txt`, in an environment of its own). Sizes, rates and lengths are
those of `released` at scale mini; the text's order, padding, tokeniser and scores are made here, without the
engine; the test sets' readers are the project's. One row a check: the development score, and at every fourth
check and the last the mean of the seven test sets.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from scipy.stats import spearmanr

from core.data.encoders import MINI_ENCODER
from core.data.sources import local_places, local_sources
from core.data.sts import StsSet, load_sts
from core.methods.mocose.settings import MoCoSERun
from core.runner.devices import cache_folder
from core.spec.errors import UserError
from core.spec.methods import base
from core.spec.scale import MINI, at_scale
from core.spec.vary import vary

ABSENT = (
    "nlpaug",
    "nlpaug.augmenter",
    "nlpaug.augmenter.word",
    "nlpaug.augmenter.sentence",
)  # for their Table 5 alone
TESTED = 4  # checks from one look at the test sets to the next: they take as long as sixty steps
COLUMNS = ("seed", "step", "development", "tests", "seconds")
TEXT = "wiki_sentences.txt"


def released(data: Path, seed: int) -> MoCoSERun:
    """Profile `released`'s standard configuration at scale mini."""
    sources = local_sources(local_places(data, MINI_ENCODER), cache_folder()).sources
    run = vary(
        at_scale(base("mocose", "released"), MINI, sources), {"seed.model": seed, "train.precision": "fp32"}
    )
    assert isinstance(run, MoCoSERun)
    return run


def imported(code: Path) -> ModuleType:
    """The authors' module. Raises UserError where it is not there or its environment is another."""
    if not (code / "mocose.py").is_file():
        raise UserError(
            f"{code} holds no mocose.py; clone https://github.com/xbdxwyh/mocose and give --code."
        )
    for name in ABSENT:
        sys.modules.setdefault(name, ModuleType(name))
    if not torch.cuda.is_available():
        # Their loss moves its sums to a GPU.
        torch.Tensor.cuda = lambda tensor, *_: tensor  # type: ignore[method-assign]
    sys.path.insert(0, str(code.resolve()))
    try:
        return importlib.import_module("mocose")
    except ImportError as error:
        raise UserError(
            f"mocose.py does not load ({error}); make an environment of benchmarks/requirements-authors.txt."
        ) from error


def model_of(module: ModuleType, run: MoCoSERun) -> torch.nn.Module:
    """Their model with the weights of mini's encoder, set up as their notebook does."""
    from safetensors.torch import load_file
    from transformers import BertConfig

    config = BertConfig(**json.loads((MINI_ENCODER / "config.json").read_text()))
    given = {
        "out_size": run.heads.out_size, "mlp_layers": run.heads.predictor_layers,
        "proj_layers": run.heads.projection_layers, "K": run.queue.size, "K_start": run.queue.init_size,
        "ema_decay": run.ema.start, "fgsm": run.fgsm.epsilon, "token_shuffle": False,
        "embedding_drop_prob": run.encoder.hidden_dropout, "token_drop_prob": 0, "feature_drop_prob": 0,
        "contextual_wordembs_aug": False, "age_test": False, "neg_queue_slice_span": None,
    }  # fmt: skip
    for name, value in given.items():
        setattr(config, name, value)
    model = module.MoCoSEModel(config)
    weights = {name: tensor.float() for name, tensor in load_file(MINI_ENCODER / "model.safetensors").items()}
    embeddings = {"position_ids": model.online_embeddings.position_ids, **_below("bert.embeddings.", weights)}
    model.online_embeddings.load_state_dict(embeddings)
    model.online_encoder.load_state_dict(_below("bert.encoder.", weights))
    model.online_pooler.dense.load_state_dict(_below("bert.pooler.dense.", weights))
    model.prepare()
    for followed in (model.target_encoder, model.target_pooler, model.target_projection):
        followed.total_step = run.ema.total_updates
    for frozen in (model.target_encoder, model.target_pooler):  # and not the target projection (D8)
        frozen.requires_grad_(False)
    return model


def _below(prefix: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}


def groups(model: Any, run: MoCoSERun) -> list[dict]:
    """What is trained, by rate and by weight decay."""
    heads = (model.online_projection, model.prodiction, model.target_projection)
    new = {id(p) for head in heads for p in head.parameters()}
    found: dict[tuple[float, float], list] = {}
    for name, p in model.named_parameters():
        if p.requires_grad:
            rate = run.train.learning_rate * (run.train.new_layer_factor if id(p) in new else 1.0)
            spared = name.endswith("bias") or "LayerNorm" in name
            found.setdefault((rate, 0.0 if spared else run.train.weight_decay), []).append(p)
    return [{"params": params, "lr": rate, "weight_decay": decay} for (rate, decay), params in found.items()]


class Scores:
    """Spearman x 100 of the cosines of [CLS], by the authors' own forward pass."""

    def __init__(self, model: Any, tokenizer: Any, data: Path):
        self.model, self.tokenizer, self.sets = model, tokenizer, load_sts(data)

    def development(self) -> float:
        """Of STS-B's development set."""
        return self.score(self.sets["STS-B dev"])

    def tests(self) -> float:
        """Mean of the seven test sets."""
        found = [self.score(one) for name, one in self.sets.items() if name != "STS-B dev"]
        return sum(found) / len(found)

    def score(self, one: StsSet) -> float:
        """Of one set."""
        cosines = torch.cosine_similarity(self.vectors(one.a), self.vectors(one.b))  # (pairs,)
        return 100 * float(spearmanr(cosines.numpy(), one.gold).statistic)

    @torch.no_grad()
    def vectors(self, sentences: Sequence[str]) -> torch.Tensor:
        """(sentences, hidden): the last layer's [CLS], in evaluation mode, by length so that little is
        padded."""
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        vectors = torch.empty(len(sentences), self.model.config.hidden_size)
        self.model.eval()
        for start in range(0, len(order), 128):
            chosen = order[start : start + 128]
            longest = self.model.config.max_position_embeddings
            batch = self.tokenizer(
                [sentences[i] for i in chosen],
                padding=True,
                truncation=True,
                max_length=longest,
                return_tensors="pt",
            )
            vectors[chosen] = self.model(**batch, return_dict=True, sent_emb=True).last_hidden_state[:, 0]
        self.model.train()
        return vectors


def batches(text: Sequence[str], size: int, seed: int) -> Iterator[list[str]]:
    """The text again and again, each time in a new order, without its last incomplete batch."""
    drawn = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(len(text), generator=drawn).tolist()
        for start in range(0, len(text) - size + 1, size):
            yield [text[i] for i in order[start : start + size]]


def checks(code: Path, data: Path, seed: int, steps: int) -> Iterator[tuple[int, float, float | None]]:
    """Step, development score and mean of the tests of each check, the untrained encoder's first; None where
    the tests are left out."""
    module = imported(code)
    try:
        from transformers import BertTokenizerFast, get_linear_schedule_with_warmup
        from transformers.optimization import AdamW
    except ImportError as error:
        raise UserError(
            f"transformers 4 is needed ({error}); make an environment of benchmarks/requirements-authors.txt."
        ) from error
    run = released(data, seed)
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    random.seed(seed)
    model = model_of(module, run)
    tokenizer = BertTokenizerFast(str(MINI_ENCODER / "vocab.txt"), do_lower_case=True)
    optimiser = AdamW(groups(model, run), eps=run.train.epsilon, no_deprecation_warning=True)
    rates = get_linear_schedule_with_warmup(
        optimiser, round(run.train.warmup_fraction * run.train.steps), run.train.steps
    )
    trained = [p for group in optimiser.param_groups for p in group["params"]]
    scores = Scores(model, tokenizer, data)
    yield 0, scores.development(), scores.tests()
    model.train()
    text = (data / TEXT).read_text(encoding="utf-8").splitlines()
    for step, lines in zip(range(1, steps + 1), batches(text, run.train.batch_size, seed), strict=False):
        batch = tokenizer(
            lines, padding="max_length", truncation=True, max_length=run.data.max_length, return_tensors="pt"
        )
        views = {name: tensor.unsqueeze(1) for name, tensor in batch.items()}  # one a sentence: (B, 1, 32)
        loss = model(**views).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, run.train.clip_norm)
        optimiser.step()
        rates.step()
        if step % run.eval.every == 0 or step == steps:
            tested = step % (TESTED * run.eval.every) == 0 or step == steps
            yield step, scores.development(), scores.tests() if tested else None


def main() -> int:
    """Append a row a check; 0, or 2 with a sentence on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.authors", description=__doc__, allow_abbrev=False
    )
    parser.add_argument(
        "--code", type=Path, required=True, help="a checkout of https://github.com/xbdxwyh/mocose"
    )
    parser.add_argument("--data-dir", type=Path, required=True, help=f"the folder with senteval/ and {TEXT}")
    parser.add_argument("--out", type=Path, required=True, help="a CSV file that is not there yet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--steps", type=int, default=MINI.steps, help="the last step; the schedule is a whole run's"
    )
    options = parser.parse_args()
    started = time.monotonic()
    try:
        with open(options.out, "x", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for step, *scores in checks(options.code, options.data_dir, options.seed, options.steps):
                texts = ["" if score is None else f"{score:.2f}" for score in scores]
                writer.writerow([options.seed, step, *texts, f"{time.monotonic() - started:.0f}"])
                file.flush()
                print(step, *texts, flush=True)
    except (UserError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
