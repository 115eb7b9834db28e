"""One run from configuration to result: load, check digests, train, select, evaluate."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from core.data.encoders import DEMO_ENCODER, encoder_digest
from core.data.own_data import own_digest, own_sets, scores_scale_sets, with_own_pairs
from core.data.sts import load_demo, load_sts, load_stsb, sets_digest
from core.data.text import text_digest, training_text
from core.data.transfer import evaluation_digest, load_probes, load_transfer, probes_digest
from core.engine import provenance
from core.engine.checkpoint import CheckpointFile
from core.engine.encoder.bert import Encoder
from core.engine.encoder.packing import pack, padded
from core.engine.encoder.packing import rows as matrix
from core.engine.evaluation.baselines import baseline_rows, kept_rows
from core.engine.evaluation.edits import edit_rows
from core.engine.evaluation.encoding import load_checkpoint
from core.engine.evaluation.scoring import Scorer
from core.engine.kept_model import keep_model
from core.engine.optimiser import learning_rate
from core.engine.step import own_stream, slower
from core.engine.tokens import TokenTable, cached_table, rewritten_table, tokenise, unknown
from core.engine.trainer import train, training_batches
from core.methods.contrastive import TrainingText
from core.spec import methods
from core.spec.errors import UserError, say
from core.spec.identity import run_id
from core.spec.result import Result, Row
from core.spec.run import Execution, RunConfig
from core.spec.scale import SCALES
from core.store.cache import Note

PLANNED = "was planned with; plan it again"


def run(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """Train and evaluate one run, from its checkpoint or from nothing.

    Raises UserError for data or an encoder that is not what the configuration names.
    """
    if config.eval.transfer:
        from core.engine.evaluation import transfer  # few runs need scikit-learn

    started = time.monotonic()
    device = torch.device(execution.device)
    steps = config.train.steps
    cache = Path(execution.cache_dir)
    torch.set_num_threads(execution.threads)
    progress({"phase": "load"})

    def note(sentence: str) -> None:
        progress({"note": sentence})

    encoder, tokenizer = load_encoder(config, execution)
    text = training_text_of(config, execution, tokenizer, device, note)
    scorer = scorer_for(config, execution, tokenizer, encoder, device, note)
    model = methods.model(config.method).Model(config, encoder, device)
    file = CheckpointFile(config, execution, model, note)
    notes = [unknown(text.table, tokenizer), *slower(config.train, model, device)]
    notes += (
        [f"goes on after step {file.step} of {steps}, from its checkpoint"] if file.step else []
    )
    for sentence in filter(None, notes):
        note(sentence)
    rows = file.rows
    if not file.step:
        rows += scorer.count_rows(execution.evaluation_path)
        rows += kept_rows(config, cache, "baselines", lambda: baseline_rows(scorer, encoder), note)
        if config.eval.transfer:
            progress({"phase": "transfer tasks"})  # before the first step moves the encoder
            untrained = partial(transfer.untrained_rows, scorer, encoder)
            rows += kept_rows(config, cache, "transfer", untrained, note)
        scorer.check(model, config, rows, 0)
    report = reporter(config, execution, file.step > 0, progress)
    loaded = time.monotonic()
    with own_stream(device):
        batches = training_batches(config, text, device, file.step)
        training = train(
            config, model, batches, partial(scorer.check, model, config, rows), report, file
        )
    file.close()
    trained = time.monotonic()
    chosen = training.selected
    if chosen is not None and math.isnan(chosen.score) and config.select.metric != "last":
        progress({"note": "no check has a score, so the last checkpoint is selected"})
    rows += [Row("curve", "train", "loss", step, loss) for step, loss in training.losses]
    some = [text.table[i] for i in range(min(config.train.batch_size, len(text.table)))]
    numbers = model.diagnostics(
        pack(some) if device.type == "cpu" else padded(matrix(some).to(device))
    )
    rows += [
        Row("last", "train", name, steps, value)
        for name, value in numbers.items()
        if value is not None
    ]
    progress({"phase": "evaluate"})
    status, pairs = scorer.final_evaluation(model, config, training, rows)
    if status != "diverged" and training.selected is not None:
        step = training.selected.step  # whose weights the model now has
        rows += edit_rows(model, scorer.sets["dev"], tokenizer, device, step)
        if config.eval.transfer:
            progress({"phase": "transfer tasks"})
            rows += transfer.rows(scorer, model, "selected", step)
        if execution.keep_models:
            keep_model(config, execution, model, encoder_folder(config, execution), step)
    seconds = {
        "load": loaded - started,
        "train": file.earlier_seconds + trained - loaded,
        "evaluate": time.monotonic() - trained,
    }
    # times, so no rows
    more = {"step_seconds": training.step_seconds, "resumed_at_steps": file.resumed_at}
    recorded = provenance.gather(config, execution, seconds, text.rewritten, file.codes)
    recorded |= {name: value for name, value in more.items() if value}
    return Result(status=status, rows=tuple(rows), pairs=pairs, provenance=recorded)


def reporter(
    config: RunConfig, execution: Execution, go_on: bool, progress: Callable[[dict], None]
) -> Callable[[dict], None]:
    """What takes the training loop's reports: checks are also written for `tail -f` and
    TensorBoard.

    `<results>/logs/<run id>.jsonl` has a line of JSON a check: run, step, of, dev (the score that
    selects), loss (mean since the last check), seconds. A resumed run appends, and repeats the
    steps after its checkpoint. If the file cannot be written, the run goes on.
    """
    run = run_id(config)
    began = time.monotonic()
    board = None
    path = Path(execution.results_dir) / "logs" / f"{run}.jsonl"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        path.open("a" if go_on else "w").close()
    if execution.tensorboard is not None:
        writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter
        board = writer(str(Path(execution.tensorboard) / run))

    def report(message: dict) -> None:
        progress(message)
        step = message["step"]
        score = message["dev"]
        loss = message["loss"]
        if loss is None:
            return
        line = {
            "run": run,
            "step": step,
            "of": config.train.steps,
            "dev": None if math.isnan(score) else round(score, 4),
            "loss": round(loss, 4),
            "seconds": round(time.monotonic() - began, 2),
        }
        with contextlib.suppress(OSError), path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if board is not None:
            scalars = {
                "loss": loss,
                "development score": score,
                "learning rate": learning_rate(config.train, step),
                "steps a second": message["rate"],
            }
            for name, number in scalars.items():
                board.add_scalar(name, number, step)
            board.flush()

    return report


def load_encoder(config: RunConfig, execution: Execution) -> tuple[Encoder, Any]:
    """The pretrained encoder with the run's dropout, and its tokenizer."""
    folder = encoder_folder(config, execution)
    settings = config.encoder
    wrong = encoder_digest(folder) != settings.digest
    if wrong:
        raise UserError(f"The encoder in {folder} is not what this run {PLANNED}.")
    loaded = load_checkpoint(folder, pooling="cls")
    return Encoder(
        loaded.model, settings.hidden_dropout, settings.attention_dropout
    ), loaded.tokenizer


def encoder_folder(config: RunConfig, execution: Execution) -> Path:
    """Where the encoder lies that the run starts from."""
    others = {digest: path for digest, path, _ in execution.other_encoders}
    return Path(others.get(config.encoder.digest) or execution.encoder_path or DEMO_ENCODER)


def training_text_of(
    config: RunConfig, execution: Execution, tokenizer, device: torch.device, note: Note = say
) -> TrainingText:
    """The training text as token ids, as sentences if the method reads words, and rewritten (Table
    5). Raises UserError for a text of another length than data.rows."""
    data = config.data
    longest = config.data.max_length
    rewriting = config.rewriting
    sentences = training_text(data, execution.corpus_path) if config.reads_words else None
    table = cached_table(
        Path(execution.cache_dir),
        ["training", data.digest, data.reader, longest, config.encoder.digest],
        lambda: tokenise(
            tokenizer, sentences or training_text(data, execution.corpus_path), longest
        ),
        note,
    )
    if len(table) != data.rows:
        raise UserError(
            f"The training text has {len(table)} sentences, not the {data.rows} it {PLANNED}."
        )
    if rewriting is None:
        return TrainingText(table, sentences, tokenizer)
    rewritten = partial(rewritten_table, config, rewriting, execution, tokenizer, device, note=note)
    online = rewritten("online") if rewriting.view == "both" else table
    return TrainingText(online, sentences, tokenizer, rewritten("target"))


def scorer_for(
    config: RunConfig,
    execution: Execution,
    tokenizer,
    encoder: Encoder,
    device: torch.device,
    note: Note = say,
) -> Scorer:
    """The scorer over the run's sets and transfer tasks. Alignment and uniformity are over all of
    STS-B, or the development set of generated or own pairs (D43). Raises UserError for sets that
    the configuration does not name."""
    root = None if execution.evaluation_path is None else Path(execution.evaluation_path)
    tasks = []
    stsb = []
    if config.eval.transfer:
        tasks = load_probes() if root is None else load_transfer(root)
    if own := own_sets([(name, Path(path)) for name, path in execution.pairs]):
        beside = root if scores_scale_sets(list(own)) else None
        sets = own if beside is None else load_sts(beside) | own
        digest = own_digest(own, None if beside is None else evaluation_digest(beside))
    elif root is None:
        sets = load_demo()
        digest = probes_digest(sets_digest(sets), tasks) if tasks else sets_digest(sets)
    else:
        sets = load_sts(root)
        digest = evaluation_digest(root, config.eval.transfer)
        stsb = [load_stsb(root, "train"), sets["STS-B dev"], sets["STS-B"]]
    if digest != config.eval.digest:
        raise UserError(f"The evaluation data is not what this run {PLANNED}.")
    scale = with_own_pairs(SCALES[config.scale], list(own))
    scored = {name: sets[name] for name in scale.tests} | {"dev": sets[scale.dev]}

    def tokenised(texts: list[str]) -> TokenTable:
        # By the sentences in their order, which the digest of the sets leaves open.
        in_order = text_digest(f"{text}\n" for text in texts)
        key = ["evaluation", in_order, encoder.max_positions, config.encoder.digest]
        build = partial(tokenise, tokenizer, texts, encoder.max_positions)
        return cached_table(Path(execution.cache_dir), key, build, note)

    return Scorer(scored, stsb or [scored["dev"]], tasks, tokenised, device)
