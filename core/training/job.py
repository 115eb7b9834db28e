"""One run from configuration to result: load, check digests, train, select, evaluate."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch

from core.config import methods
from core.config.quantities import TERM
from core.config.result import Measurement, Result
from core.config.run import RunConfig, needs_columns
from core.config.scale import SCALES
from core.data.encoders import encoder_digest
from core.data.own_data import own_digest, own_sets, scores_scale_sets, with_own_pairs
from core.data.sts import StsSet, load_demo, load_split, load_sts, sets_digest
from core.data.text import text_digest, training_text
from core.data.transfer import evaluation_digest, load_probes, load_transfer, probes_digest
from core.encoder.bert import Encoder
from core.encoder.packing import Packed, pack, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.encoder.tokens import TokenTable, cached_table, rewritten_table, tokenise, unknown_tokens
from core.errors import UserError
from core.evaluation.baselines import baseline_rows, cached_rows
from core.evaluation.edits import edit_rows
from core.evaluation.encoding import load_checkpoint
from core.evaluation.scoring import Scorer
from core.methods.contrastive import Contrastive, TrainingText
from core.training.checkpoint import CheckpointFile
from core.training.execution import Execution
from core.training.kept_model import keep_model, scored_pooling
from core.training.optimiser import learning_rate
from core.training.provenance import provenance_after, provenance_before
from core.training.run import Run
from core.training.step import own_stream, slower
from core.training.trainer import train, training_batches

PLANNED = "was planned with; plan it again"


def run(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """Train and evaluate one run, from its checkpoint or from nothing.

    Raises UserError for data or an encoder that is not what the configuration names.
    """
    # load
    run = Run(config, execution, progress)
    started = time.monotonic()
    torch.set_num_threads(execution.threads)
    run.enter("load")
    if config.columns > config.data.columns:
        raise UserError(f"Method {config.method} {needs_columns(config.columns)}.")
    encoder, tokenizer = load_encoder(run)
    text = training_text_of(run, tokenizer)
    scorer = scorer_for(run, tokenizer, encoder)
    provenance = provenance_before(run, text.rewritten)
    model = new_model(config, encoder, run.device)
    file = CheckpointFile(run, model)
    for sentence in (
        unknown_tokens(text.table, tokenizer),
        *slower(config.train, model, run.device),
    ):
        if sentence:
            run.note(sentence)
    if file.step:
        run.note(f"goes on after step {file.step} of {config.train.steps}, from its checkpoint")
    else:
        file.rows += rows_before(run, scorer, encoder, model)

    # train
    terms: dict[str, float] = {}  # of the loss, at the last check

    def check(step: int) -> float:
        score, rows = scorer.check(model, config, step)
        file.rows += rows
        terms.clear()
        for name, value in model.term_means().items():
            terms[f"{TERM}{name}"] = value
            file.rows.append(Measurement("curve", "train", f"{TERM}{name}", step, value))
        return score

    report = reporter(run, file.step > 0, terms)
    loaded = time.monotonic()
    with own_stream(run.device):
        batches = training_batches(config, text, run.device, file.step)
        training = train(config, model, batches, check, report, file)
    file.close()
    trained = time.monotonic()
    selected = training.selected
    if config.trains and config.select.metric != "last" and selected and math.isnan(selected.score):
        run.note("no check has a score, so the last checkpoint is selected")

    # evaluate
    rows = list(file.rows)
    rows += [Measurement("curve", "train", "loss", step, loss) for step, loss in training.losses]
    sentences = first_sentences(run, text)
    for name, value in model.diagnostics(sentences).items():
        if value is not None:
            rows.append(Measurement("last", "train", name, config.train.steps, value))
    run.enter("evaluate")
    # leaves the selected weights
    final = scorer.final_evaluation(model, config, selected, training.diverged_at)
    rows += final.rows
    if final.status != "diverged" and selected is not None:
        rows += rows_after(run, scorer, model, tokenizer, selected.step)
        if execution.keep_models:
            pooling = None  # of a run that is scored through its head, among others
            if config.keepable:
                pooling = "cls" if model.starts_from_cls() else scored_pooling(model, sentences)
            if pooling is not None:
                keep_model(run, model, selected.step, pooling)
            else:
                provenance["keeps_no_model"] = True
                run.note("keeps no model: its vectors are neither [CLS] nor the mean of the tokens")

    # times and versions, so no rows
    seconds = {
        "load": loaded - started,
        "train": file.earlier_seconds + trained - loaded,
        "evaluate": time.monotonic() - trained,
    }
    provenance["seconds"] = {phase: round(value, 3) for phase, value in seconds.items()}
    provenance |= provenance_after(run, file.codes)
    if training.step_seconds:
        provenance["step_seconds"] = training.step_seconds
    if file.resumed_at:
        provenance["resumed_at_steps"] = file.resumed_at
    return Result(status=final.status, rows=tuple(rows), pairs=final.pairs, provenance=provenance)


def new_model(config: RunConfig, encoder: Encoder, device: torch.device) -> Contrastive:
    """The model of a run before its first step. Layers that a method makes by torch's own classes
    start from the run's seed, too."""
    seed_libraries(config.seed.model, "layers")
    return methods.model(config.method).Model(config, encoder, device)


def rows_before(
    run: Run, scorer: Scorer, encoder: Encoder, model: Contrastive
) -> list[Measurement]:
    """Rows about the data, the encoder before the first step moves it, the first check, and the
    method's own vector where that is not [CLS]."""
    config = run.config
    rows = scorer.count_rows(run.sources.evaluation)
    cached = partial(cached_rows, config, run.cache, device=run.device)
    rows += cached("baselines", make=partial(baseline_rows, scorer, encoder))
    if config.eval.transfer:
        from core.evaluation.transfer import untrained_rows  # few runs need scikit-learn

        run.enter("transfer tasks")
        rows += cached("transfer", make=partial(untrained_rows, scorer, encoder))
    rows += scorer.check(model, config, 0)[1]
    if config.trains and not model.starts_from_cls():
        rows += scorer.score_rows(scorer.score(model, scorer.sets).scores, "start", 0)
    return rows


def rows_after(
    run: Run, scorer: Scorer, model: Contrastive, tokenizer, step: int
) -> list[Measurement]:
    """Edits and transfer tasks with the selected weights, those after `step`, which the model
    has."""
    rows = edit_rows(model, scorer.sets["dev"], tokenizer, run.device, step)
    if run.config.eval.transfer:
        from core.evaluation.transfer import accuracy_rows  # few runs need scikit-learn

        run.enter("transfer tasks")
        rows += accuracy_rows(scorer, model, "selected", step)
    return rows


def first_sentences(run: Run, text: TrainingText) -> Packed:
    """The first sentences of the text as a batch, as many as a step has."""
    count = min(run.config.train.batch_size, len(text.table))
    sentences = [text.table[i] for i in range(count)]
    if run.device.type == "cpu":
        return pack(sentences)
    return padded(token_matrix(sentences).to(run.device))


def reporter(run: Run, go_on: bool, terms: Mapping[str, float]) -> Callable[[dict], None]:
    """What takes the training loop's reports: checks are also written for `tail -f` and
    TensorBoard.

    `<results>/logs/<run id>.jsonl` has a line of JSON a check: run, step, of, dev (the score that
    selects), loss and `loss_…` for further `terms` (means since the last check), seconds. A resumed
    run appends, and repeats the steps after its checkpoint. If the file cannot be written, the run
    goes on.
    """
    began = time.monotonic()
    path = Path(run.execution.results_dir) / "logs" / f"{run.id}.jsonl"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        path.open("a" if go_on else "w").close()
    board = None
    if run.execution.tensorboard is not None:
        from torch.utils.tensorboard import SummaryWriter  # an extra

        board = SummaryWriter(str(run.execution.tensorboard / run.id))

    def report(message: dict) -> None:
        run.progress(message)
        if message["loss"] is None:
            return
        step = message["step"]
        score = message["dev"]
        means = {"loss": message["loss"], **terms}

        # a line of JSON, which knows no NaN
        line = {"run": run.id, "step": step, "of": run.config.train.steps}
        line["dev"] = None if math.isnan(score) else round(score, 4)
        line |= {name: round(value, 4) for name, value in means.items()}
        line["seconds"] = round(time.monotonic() - began, 2)
        with contextlib.suppress(OSError), path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if board is None:
            return
        means["development score"] = score
        means["learning rate"] = learning_rate(run.config.train, step)
        means["steps a second"] = message["rate"]
        for name, number in means.items():
            board.add_scalar(name, number, step)
        board.flush()

    return report


def load_encoder(run: Run) -> tuple[Encoder, Any]:
    """The pretrained encoder with the run's dropout, and its tokenizer."""
    settings = run.config.encoder
    if encoder_digest(run.encoder_folder) != settings.digest:
        raise UserError(f"The encoder in {run.encoder_folder} is not what this run {PLANNED}.")
    loaded = load_checkpoint(
        run.encoder_folder,
        hidden_dropout=settings.hidden_dropout,
        attention_dropout=settings.attention_dropout,
    )
    return loaded.encoder, loaded.tokenizer


def training_text_of(run: Run, tokenizer) -> TrainingText:
    """The training text as token ids, as sentences for methods that read words, and rewritten
    (Table 5), with as many of the method's columns as there are. Raises UserError for a text of
    another length than data.rows."""
    config = run.config
    data = config.data
    sentences = cache(lambda: training_text(data, run.sources.corpus))

    def table_of(column: int) -> TokenTable:
        def build() -> TokenTable:
            texts = training_text(data, run.sources.corpus, column)
            return tokenise(tokenizer, texts, data.max_length)

        about = data.digest, data.reader, data.max_length, config.encoder.digest
        return cached_table(run.cache, ["training", *about, column], build)

    table, *further = map(table_of, range(min(config.columns, data.columns)))
    if len(table) != data.rows:
        raise UserError(
            f"The training text has {len(table)} sentences, not the {data.rows} it {PLANNED}."
        )
    rewritten = None
    if config.rewriting is not None:
        rewrite = partial(
            rewritten_table,
            config,
            config.rewriting,
            run.sources,
            run.cache,
            tokenizer,
            run.device,
        )
        if config.rewriting.view == "both":
            table = rewrite("online")
        rewritten = rewrite("target")
    return TrainingText(table, sentences, tokenizer, rewritten, tuple(further))


def scorer_for(run: Run, tokenizer, encoder: Encoder) -> Scorer:
    """The scorer over the run's sets and transfer tasks. Alignment and uniformity are over all of
    STS-B, or the development set of generated or own pairs (D43). Raises UserError for sets that
    the configuration does not name."""
    config = run.config
    root = run.sources.evaluation
    tasks = []
    if config.eval.transfer:
        tasks = load_probes() if root is None else load_transfer(root)

    # sets of pairs, and all of STS-B
    own_pairs = own_sets(run.sources.pairs)
    sets: dict[str, StsSet] = {}
    digest = None
    geometry_of = []
    if root is not None and scores_scale_sets(list(own_pairs)):
        sets = load_sts(root)
        digest = evaluation_digest(root, config.eval.transfer)
        if not own_pairs:
            geometry_of = [load_split(root, "STS-B", "train"), sets["STS-B dev"], sets["STS-B"]]
    elif not own_pairs:
        sets = load_demo()
        digest = sets_digest(sets)
        if tasks:
            digest = probes_digest(digest, tasks)
    if own_pairs:
        sets |= own_pairs
        digest = own_digest(own_pairs, digest)
    if digest != config.eval.digest:
        raise UserError(f"The evaluation data is not what this run {PLANNED}.")
    scale = with_own_pairs(SCALES[config.scale], list(own_pairs))
    scored = {name: sets[name] for name in scale.tests}
    scored["dev"] = sets[scale.dev]

    def tokenised(texts: list[str]) -> TokenTable:
        # By the sentences in their order, which the digest of the sets leaves open.
        in_order = text_digest(f"{text}\n" for text in texts)
        longest = encoder.max_positions
        build = partial(tokenise, tokenizer, texts, longest)
        return cached_table(
            run.cache, ["evaluation", in_order, longest, config.encoder.digest], build
        )

    return Scorer(scored, geometry_of or [scored["dev"]], tasks, tokenised, run.device)
