"""One run from configuration to result: load, check digests, train, select, evaluate."""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from core.config import methods
from core.config.identity import run_id
from core.config.quantities import TERM
from core.config.result import Result, Row
from core.config.run import Execution, RunConfig, needs_columns
from core.config.scale import SCALES
from core.data.encoders import DEMO_ENCODER, check_augmentation, encoder_digest
from core.data.own_data import own_digest, own_sets, scores_scale_sets, with_own_pairs
from core.data.sts import load_demo, load_sts, load_stsb, sets_digest
from core.data.text import text_digest, training_text
from core.data.transfer import evaluation_digest, load_probes, load_transfer, probes_digest
from core.encoder.any import encoder_over
from core.encoder.bert import Encoder
from core.encoder.packing import Packed, pack, padded, token_matrix
from core.encoder.streams import seed_libraries
from core.encoder.tokens import TokenTable, cached_table, rewritten_table, tokenise, unknown_tokens
from core.errors import UserError, say
from core.evaluation.baselines import baseline_rows, kept_rows
from core.evaluation.edits import edit_rows
from core.evaluation.encoding import load_checkpoint
from core.evaluation.scoring import Candidate, Scorer
from core.methods.contrastive import Contrastive, Sentences, TrainingText
from core.store.cache import Note
from core.training.checkpoint import CheckpointFile
from core.training.kept_model import keep_model, scored_pooling
from core.training.optimiser import learning_rate
from core.training.provenance import run_provenance
from core.training.step import own_stream, slower
from core.training.trainer import TrainingResult, train, training_batches

PLANNED = "was planned with; plan it again"


def run(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """Train and evaluate one run, from its checkpoint or from nothing.

    Raises UserError for data or an encoder that is not what the configuration names.
    """

    def note(sentence: str) -> None:
        progress({"note": sentence})

    # load
    started = time.monotonic()
    device = torch.device(execution.device)
    torch.set_num_threads(execution.threads)
    progress({"phase": "load"})
    encoder, tokenizer = load_encoder(config, execution)
    text = training_text_of(config, execution, tokenizer, device, note)
    scorer = scorer_for(config, execution, tokenizer, encoder, device, note)
    model = new_model(config, encoder, device)
    file = CheckpointFile(config, execution, model, note)
    for sentence in (unknown_tokens(text.table, tokenizer), *slower(config.train, model, device)):
        if sentence:
            note(sentence)
    if file.step:
        note(f"goes on after step {file.step} of {config.train.steps}, from its checkpoint")

    # before the first step
    if not file.step:
        file.rows += measure_untrained(config, execution, scorer, encoder, progress)
        file.rows += measure_start(config, scorer, model)

    # train
    terms: dict[str, float] = {}  # of the loss, at the last check

    def check(step: int) -> float:
        score, rows = scorer.check(model, config, step)
        file.rows += rows
        terms.update(model.term_means())
        for name, value in terms.items():
            file.rows.append(Row("curve", "train", f"{TERM}{name}", step, value))
        return score

    report = reporter(config, execution, file.step > 0, progress, terms)
    loaded = time.monotonic()
    with own_stream(device):
        batches = training_batches(config, text, device, file.step)
        training = train(config, model, batches, check, report, file)
    file.close()
    trained = time.monotonic()
    selected = training.selected
    if config.trains and config.select.metric != "last" and lacks_score(selected):
        note("no check has a score, so the last checkpoint is selected")

    # evaluate
    rows = list(file.rows)
    rows += [Row("curve", "train", "loss", step, loss) for step, loss in training.losses]
    rows += measure_method(config, model, text, device)
    progress({"phase": "evaluate"})
    # leaves the selected weights
    final = scorer.final_evaluation(model, config, training.selected, training.diverged_at)
    rows += final.rows
    provenance: dict[str, object] = {}
    if final.status != "diverged" and selected is not None:
        rows += measure_selected(config, scorer, model, tokenizer, selected.step, progress)
        if execution.keep_models and not keep_selected(
            config, execution, model, text, selected.step
        ):
            provenance["keeps_no_model"] = True
            note("keeps no model: its vectors are neither [CLS] nor the mean of the tokens")

    # times and versions, so no rows
    seconds = {
        "load": loaded - started,
        "train": file.earlier_seconds + trained - loaded,
        "evaluate": time.monotonic() - trained,
    }
    provenance |= run_provenance(config, execution, seconds, text.rewritten, file.codes)
    provenance |= attempt_provenance(training, file)
    return Result(status=final.status, rows=tuple(rows), pairs=final.pairs, provenance=provenance)


def new_model(config: RunConfig, encoder: Encoder, device: torch.device) -> Contrastive:
    """The model of a run before its first step. Layers that a method makes by torch's own classes
    start from the run's seed, too."""
    seed_libraries(config.seed.model, "layers")
    return methods.model(config.method).Model(config, encoder, device)


def measure_untrained(
    config: RunConfig,
    execution: Execution,
    scorer: Scorer,
    encoder: Encoder,
    progress: Callable[[dict], None],
) -> list[Row]:
    """Rows about the data and the encoder before the first step moves it."""

    def note(sentence: str) -> None:
        progress({"note": sentence})

    cache = Path(execution.cache_dir)
    rows = scorer.count_rows(execution.evaluation_path)
    rows += kept_rows(config, cache, "baselines", lambda: baseline_rows(scorer, encoder), note)
    if config.eval.transfer:
        from core.evaluation.transfer import untrained_rows  # few runs need scikit-learn

        progress({"phase": "transfer tasks"})
        rows += kept_rows(config, cache, "transfer", lambda: untrained_rows(scorer, encoder), note)
    return rows


def measure_method(
    config: RunConfig, model: Contrastive, text: TrainingText, device: torch.device
) -> list[Row]:
    """The numbers that the method has about the trained model, some of them of the first batch of
    the text."""
    rows = []
    for name, value in model.diagnostics(first_sentences(config, text, device)).items():
        if value is not None:
            rows.append(Row("last", "train", name, config.train.steps, value))
    return rows


def measure_start(config: RunConfig, scorer: Scorer, model: Contrastive) -> list[Row]:
    """Rows of the first check, and of the method's own vector where that is not [CLS]."""
    rows = list(scorer.check(model, config, 0).rows)
    if config.trains and not model.starts_from_cls():
        rows += scorer.start_rows(model)
    return rows


def attempt_provenance(training: TrainingResult, file: CheckpointFile) -> dict[str, object]:
    """Seconds a step, and where attempts went on, as far as there are any."""
    measured = {"step_seconds": training.step_seconds, "resumed_at_steps": file.resumed_at}
    return {name: value for name, value in measured.items() if value}


def lacks_score(candidate: Candidate | None) -> bool:
    """Whether a checkpoint is selected that has no score."""
    return candidate is not None and math.isnan(candidate.score)


def keep_selected(
    config: RunConfig, execution: Execution, model: Contrastive, text: TrainingText, step: int
) -> bool:
    """Keep the selected model, if a pooling that its folder can state gives the scored vectors;
    whether it is kept."""
    pooling: str | None = "cls"
    if not model.starts_from_cls():
        sentences = first_sentences(config, text, torch.device(execution.device))
        pooling = scored_pooling(model, sentences)
    if pooling is None:
        return False
    source = encoder_folder(config, execution)
    keep_model(config, execution, model, source, step, pooling)
    return True


def first_sentences(config: RunConfig, text: TrainingText, device: torch.device) -> Packed:
    """The first sentences of the text as a batch, as many as a step has."""
    count = min(config.train.batch_size, len(text.table))
    sentences = [text.table[i] for i in range(count)]
    if device.type == "cpu":
        return pack(sentences)
    return padded(token_matrix(sentences).to(device))


def measure_selected(
    config: RunConfig,
    scorer: Scorer,
    model: Contrastive,
    tokenizer,
    step: int,
    progress: Callable[[dict], None],
) -> list[Row]:
    """Edits and transfer tasks with the selected weights, those after `step`, which the model
    has."""
    rows = edit_rows(model, scorer.sets["dev"], tokenizer, scorer.device, step)
    if config.eval.transfer:
        from core.evaluation.transfer import accuracy_rows  # few runs need scikit-learn

        progress({"phase": "transfer tasks"})
        rows += accuracy_rows(scorer, model, "selected", step)
    return rows


def reporter(
    config: RunConfig,
    execution: Execution,
    go_on: bool,
    progress: Callable[[dict], None],
    terms: Mapping[str, float],
) -> Callable[[dict], None]:
    """What takes the training loop's reports: checks are also written for `tail -f` and
    TensorBoard.

    `<results>/logs/<run id>.jsonl` has a line of JSON a check: run, step, of, dev (the score that
    selects), loss and `loss_…` for further `terms` (means since the last check), seconds. A resumed
    run appends, and repeats the steps after its checkpoint. If the file cannot be written, the run
    goes on.
    """
    run = run_id(config)
    began = time.monotonic()
    path = Path(execution.results_dir) / "logs" / f"{run}.jsonl"
    mode = "a" if go_on else "w"
    with contextlib.suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        path.open(mode).close()
    board = None
    if execution.tensorboard is not None:
        from torch.utils.tensorboard import SummaryWriter  # an extra

        board = SummaryWriter(str(Path(execution.tensorboard) / run))

    def report(message: dict) -> None:
        progress(message)
        step = message["step"]
        score = message["dev"]
        loss = message["loss"]
        if loss is None:
            return

        # a line of JSON, which knows no NaN
        line = {
            "run": run,
            "step": step,
            "of": config.train.steps,
            "dev": None,
            "loss": round(loss, 4),
            "seconds": round(time.monotonic() - began, 2),
        }
        for name, value in terms.items():
            line[f"{TERM}{name}"] = round(value, 4)
        if not math.isnan(score):
            line["dev"] = round(score, 4)
        with contextlib.suppress(OSError), path.open("a") as file:
            file.write(json.dumps(line) + "\n")

        # TensorBoard
        if board is None:
            return
        scalars = {
            "loss": loss,
            "development score": score,
            "learning rate": learning_rate(config.train, step),
            "steps a second": message["rate"],
        }
        scalars |= {f"{TERM}{name}": value for name, value in terms.items()}
        for name, number in scalars.items():
            board.add_scalar(name, number, step)
        board.flush()

    return report


def load_encoder(config: RunConfig, execution: Execution) -> tuple[Encoder, Any]:
    """The pretrained encoder with the run's dropout, and its tokenizer."""
    folder = encoder_folder(config, execution)
    settings = config.encoder
    if encoder_digest(folder) != settings.digest:
        raise UserError(f"The encoder in {folder} is not what this run {PLANNED}.")
    loaded = load_checkpoint(folder, pooling="cls")
    encoder = encoder_over(loaded.model, settings.hidden_dropout, settings.attention_dropout)
    encoder.mask_token = loaded.tokenizer.mask_token_id
    check_augmentation(config, encoder.shuffles_positions, encoder.word_width, encoder.hidden)
    return encoder, loaded.tokenizer


def encoder_folder(config: RunConfig, execution: Execution) -> Path:
    """Where the encoder lies that the run starts from."""
    for digest, folder, _ in execution.other_encoders:
        if digest == config.encoder.digest:
            return Path(folder)
    return Path(execution.encoder_path or DEMO_ENCODER)


def training_text_of(
    config: RunConfig, execution: Execution, tokenizer, device: torch.device, note: Note = say
) -> TrainingText:
    """The training text as token ids, as sentences for methods that read words, and rewritten
    (Table 5). Raises UserError for a text of another length than data.rows, or without the columns
    that the method reads."""
    if config.columns > config.data.columns:
        raise UserError(f"Method {config.method} {needs_columns(config.columns)}.")
    return present_text(config, execution, tokenizer, device, note)


def present_text(
    config: RunConfig, execution: Execution, tokenizer, device: torch.device, note: Note = say
) -> TrainingText:
    """The same, with as many of the method's columns as there are."""
    data = config.data
    sentences = Sentences(lambda: training_text(data, execution.corpus_path))

    def build() -> TokenTable:
        return tokenise(tokenizer, sentences.texts, data.max_length)

    key: list[str | int] = [
        "training",
        data.digest,
        data.reader,
        data.max_length,
        config.encoder.digest,
    ]
    cache = Path(execution.cache_dir)
    table = cached_table(cache, key, build, note)
    further = []
    for column in range(1, min(config.columns, data.columns)):
        texts = partial(training_text, data, execution.corpus_path, column)
        make = partial(tokenised_text, tokenizer, texts, data.max_length)
        further.append(cached_table(cache, [*key, "column", column], make, note))
    if len(table) != data.rows:
        raise UserError(
            f"The training text has {len(table)} sentences, not the {data.rows} it {PLANNED}."
        )
    rewriting = config.rewriting
    if rewriting is None:
        return TrainingText(table, sentences, tokenizer, columns=tuple(further))
    rewritten = partial(rewritten_table, config, rewriting, execution, tokenizer, device, note=note)
    if rewriting.view == "both":
        table = rewritten("online")
    return TrainingText(table, sentences, tokenizer, rewritten("target"))


def tokenised_text(tokenizer, texts: Callable[[], list[str]], max_length: int) -> TokenTable:
    """The token ids of a text, which is read first."""
    return tokenise(tokenizer, texts(), max_length)


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
    root = None
    if execution.evaluation_path is not None:
        root = Path(execution.evaluation_path)

    # transfer tasks
    tasks = []
    if config.eval.transfer:
        tasks = load_probes() if root is None else load_transfer(root)

    # sets of pairs, and all of STS-B
    geometry_of = []
    own_pairs = own_sets([(name, Path(path)) for name, path in execution.pairs])
    if own_pairs and root is not None and scores_scale_sets(list(own_pairs)):
        sets = load_sts(root) | own_pairs
        digest = own_digest(own_pairs, evaluation_digest(root))
    elif own_pairs:
        sets = own_pairs
        digest = own_digest(own_pairs, None)
    elif root is not None:
        sets = load_sts(root)
        digest = evaluation_digest(root, config.eval.transfer)
        geometry_of = [load_stsb(root, "train"), sets["STS-B dev"], sets["STS-B"]]
    else:
        sets = load_demo()
        digest = sets_digest(sets)
        if tasks:
            digest = probes_digest(digest, tasks)
    if digest != config.eval.digest:
        raise UserError(f"The evaluation data is not what this run {PLANNED}.")
    scale = with_own_pairs(SCALES[config.scale], list(own_pairs))
    scored = {name: sets[name] for name in scale.tests}
    scored["dev"] = sets[scale.dev]
    if not geometry_of:
        geometry_of = [scored["dev"]]

    def tokenised(texts: list[str]) -> TokenTable:
        # By the sentences in their order, which the digest of the sets leaves open.
        in_order = text_digest(f"{text}\n" for text in texts)
        key = ["evaluation", in_order, encoder.max_positions, config.encoder.digest]
        build = partial(tokenise, tokenizer, texts, encoder.max_positions)
        return cached_table(Path(execution.cache_dir), key, build, note)

    return Scorer(scored, geometry_of, tasks, tokenised, device)
