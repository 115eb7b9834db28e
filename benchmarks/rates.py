"""Try rates at scale mini or long: each method from the same grid, on development scores alone.

    python -m benchmarks.rates --scale mini --data-dir DATA --out rates.csv [--methods simcse mocose …] [--rates 3e-4 …] [--new 3e-4 …]
                               [--until 384] [--profile repaired] [--set heads.predictor_layers=0 …]
    python -m benchmarks.rates --scale long --out rates.csv

One trial a method, encoder's rate and rate of new layers: seed 0, the scale's own length and schedule, stopped after --until steps (mini 384,
long at its end), under a profile (paper) and with these settings (none). One row a development check is appended to --out; trials that it holds
that far are left out, and those that it holds less far run again and add what is missing.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from benchmarks.kept import append, begin, kept
from core.data.encoders import MINI_ENCODER
from core.data.sources import Found, demo_sources, local_places, local_sources
from core.engine.evaluation.rows import check
from core.engine.job import load_encoder, scorer_for, training_text_of
from core.engine.trainer import train, training_batches
from core.runner.arguments import Parser
from core.runner.train import cache_folder
from core.spec import methods
from core.spec.errors import UserError
from core.spec.execution import Execution
from core.spec.profiles import PROFILES, base
from core.spec.run import RunConfig
from core.spec.scale import LONG, MINI, Scale, Sources, at_scale
from core.spec.section import decimal, whole
from core.spec.vary import parse_setting, vary

TRIED = {scale.name: scale for scale in (LONG, MINI)}
RATES = {"long": (1e-4, 3e-4, 1e-3, 3e-3), "mini": (1e-5, 3e-5, 1e-4, 3e-4, 1e-3)}
NEW_LAYERS = (3e-4, 1e-3)  # the paper's travel of 3e-5 x 15,625 is 3.7e-4 x 1,280
UNTIL = {"long": 1280, "mini": 384}


class Enough(Exception):
    """A trial has come as far as it was asked to."""


class Trial(NamedTuple):
    """What one trial trains; `settings` are FIELD=VALUE, one after the other with a blank between."""

    scale: str
    method: str
    profile: str
    settings: str
    rate: float
    new_layer_rate: float

    def run(self, sources: Sources) -> RunConfig:
        """Its run. Raises UserError for settings that its method does not have."""
        scale = replace(TRIED[self.scale], learning_rate=self.rate, method_rates=(), new_layer_rate=self.new_layer_rate)
        run = at_scale(vary(base(self.method, self.profile), {"seed.model": 0, "seed.data": 0}), scale, sources)
        pairs = [parse_setting(run, text) for text in self.settings.split()]
        if len(dict(pairs)) < len(pairs):
            raise UserError(f"--set {self.settings} gives a field twice; give it once.")
        return vary(run, dict(pairs))


COLUMNS = (*Trial._fields, "step", "development")


def development(config: RunConfig, scale: Scale, found: Found, until: int, cache: Path) -> list[tuple[int, float]]:
    """Step and development score x 100 of each check up to step `until`, the untrained encoder's first."""
    places = found.places
    corpus, evaluation, encoder_path = (None if p is None else str(p) for p in (places.corpus, places.evaluation, places.encoder))
    execution = Execution(results_dir=str(cache), cache_dir=str(cache), corpus_path=corpus, corpus_name=places.corpus_name,
                          evaluation_path=evaluation, encoder_path=encoder_path)  # fmt: skip
    device = torch.device("cpu")
    torch.set_num_threads(1)
    encoder, tokenizer = load_encoder(config, execution)
    text = training_text_of(config, execution, tokenizer, device)
    scorer = scorer_for(scale, config, execution, tokenizer, encoder, device)
    model = methods.model(config.method).Model(config, encoder, device)
    scores = [(0, scorer.development(model).scores[scale.dev].all)]

    def checked(step: int) -> float:
        scores.append((step, check(scorer, model, config, step, [])))
        if step >= until:
            raise Enough
        return scores[-1][1]

    try:
        train(config, model, training_batches(config, text, device, 0), checked, lambda message: None, None)
    except Enough:
        pass
    return scores


def held(out: Path) -> dict[Trial, int]:
    """The trials of a file with the last step of each; none if it is new. Raises UserError."""
    found: dict[Trial, int] = {}
    for one, step in kept(out, COLUMNS, "trials", _trial):
        found[one] = max(found.get(one, 0), step)
    return found


def _trial(row: dict[str, str]) -> tuple[Trial, int]:
    rates = float(row["rate"]), float(row["new_layer_rate"])
    return Trial(row["scale"], row["method"], row["profile"], row["settings"], *rates), int(row["step"])


def _rate(text: str) -> float:
    value = decimal(text)
    if value is None or value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no rate above 0, such as 3e-4")
    return value


def _step(text: str) -> int:
    value = whole(text)
    most = max(scale.steps or 0 for scale in TRIED.values())
    if value is None or not 1 <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no step from 1 to {most}")
    return value


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """The options. Raises UserError for anything that cannot be meant."""
    parser = Parser(prog="python -m benchmarks.rates", description="Try rates at scale mini or long.")
    parser.add_argument("--scale", choices=tuple(TRIED), default="mini")
    parser.add_argument("--data-dir", type=Path, help="mini: the folder with senteval/ and wiki_sentences.txt")
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to append to")
    parser.add_argument("--methods", nargs="+", choices=methods.names(), default=methods.names())
    parser.add_argument("--rates", nargs="+", type=_rate, help="of the encoder")
    parser.add_argument("--new", nargs="+", type=_rate, default=NEW_LAYERS, help="of layers that start at random")
    parser.add_argument("--profile", choices=PROFILES, default=PROFILES[0])
    parser.add_argument("--set", nargs="+", default=(), metavar="FIELD=VALUE", help="fields of every trial")
    parser.add_argument("--until", type=_step, help="the step at which a trial stops")
    given = parser.parse_args(argv)
    if TRIED[given.scale].generated and given.data_dir is not None:
        raise UserError(f"Scale {given.scale} is a made-up language and reads no data; leave --data-dir out.")
    if not TRIED[given.scale].generated and given.data_dir is None:
        raise UserError(f"Scale {given.scale} reads text and pairs; give --data-dir, the folder with senteval/ and wiki_sentences.txt.")
    given.rates = given.rates or RATES[given.scale]
    given.until = given.until or UNTIL[given.scale]
    return given


def main(argv: Sequence[str]) -> int:
    """Run the trials that are not in the file yet; 0, 2 with a sentence on standard error, or 130 if stopped."""
    out = "--out"
    try:
        given = parsed(argv)
        out = str(given.out)
        tried(given)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or out}: {error.strerror or error}; mend that and give the same command again.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Stopped; the trials that ended are in {out}, and the same command goes on.", file=sys.stderr)
        return 130
    return 0


def tried(given: argparse.Namespace) -> None:
    """Run each trial and append its rows."""
    done, cache = held(given.out), cache_folder()
    scale = TRIED[given.scale]
    found = demo_sources() if scale.generated else local_sources(local_places(given.data_dir, MINI_ENCODER), cache)
    settings = " ".join(sorted(given.set))
    asked = [
        Trial(scale.name, method, given.profile, settings, *rates)
        for method, *rates in itertools.product(given.methods, given.rates, given.new)
    ]
    # Made before anything is written, so that a setting which does not fit leaves no file.
    runs = {one: one.run(found.sources) for one in asked if done.get(one, -1) < given.until}
    begin(given.out, COLUMNS)
    for one, run in runs.items():
        scores = [at for at in development(run, scale, found, given.until, cache) if at[0] > done.get(one, -1)]
        append(given.out, [(*one, step, f"{score:.2f}") for step, score in scores])
        print(*one, *(f"{score:.1f}" for _, score in scores), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
