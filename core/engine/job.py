"""One run from configuration to result: load, check digests, train, select, evaluate."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from core.data.digests import evaluation_digest
from core.data.encoders import DEMO_ENCODER, check_encoder, encoder_digest
from core.data.own_data import own_digest, own_sets, scores_scale_sets, with_own_pairs
from core.data.sts import StsSet, load_demo, load_sts, load_stsb, sets_digest
from core.data.text import training_text
from core.data.transfer import load_probes, load_transfer, probes_digest
from core.engine import provenance
from core.engine.checkpoint import CheckpointFile
from core.engine.encoder.bert import Encoder, from_pretrained
from core.engine.encoder.packing import on
from core.engine.evaluation.baselines import baseline_rows, kept_path
from core.engine.evaluation.edits import edit_rows, edited_copies
from core.engine.evaluation.encoding import load_checkpoint
from core.engine.evaluation.length_bias import length_rows
from core.engine.evaluation.scoring import Scorer, distinct_sentences
from core.engine.kept_model import keep_model
from core.engine.measure import check, count_rows, final_evaluation
from core.engine.optimiser import learning_rate
from core.engine.rewriting import ONLINE, TARGET, rewritten_table
from core.engine.step import own_stream, slower
from core.engine.tokens import TokenTable, cached_table, tokenise, unknown
from core.engine.trainer import train, training_batches
from core.methods.contrastive import TrainingText
from core.spec import methods
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.result import PairBlock, Result, Row, Status
from core.spec.run import Execution, RunConfig
from core.spec.scale import SCALES, Scale
from core.spec.setup import check_length, check_precision

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from core.engine.evaluation.transfer import Transfer


def run(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """Train and evaluate one run, from its checkpoint or from nothing.

    Raises UserError for data or an encoder that is not what the configuration names.
    """
    started = time.monotonic()
    device, steps = torch.device(execution.device), config.train.steps

    def phase(name: str, step: int) -> None:
        progress({"phase": name, "step": step, "total": steps, "rate": None, "dev": None})

    check_precision(config, device.type)
    torch.set_num_threads(execution.threads)
    phase("load", 0)
    encoder, tokenizer = load_encoder(config, execution)
    scale = with_own_pairs(SCALES[config.scale], [name for name, _ in execution.pairs])
    text = training_text_of(config, execution, tokenizer, device)
    if note := unknown(text.table, tokenizer):
        progress({"note": note})
    scorer = scorer_for(scale, config, execution, tokenizer, encoder, device)
    transfer = transfer_for(config, execution, tokenizer, encoder, device) if config.eval.transfer else None
    file = CheckpointFile(config, execution, lambda text: progress({"note": text}))
    model = methods.model(config.method).Model(config, encoder, device)
    for sentence in slower(config.train, model, device):
        progress({"note": sentence})
    rows, cache = file.saved_rows(), Path(execution.cache_dir)
    if rows is None:
        rows = count_rows(scorer, execution.evaluation_path)
        rows += baseline_rows(scorer, encoder, kept_path(config, cache, "baselines"))
        if transfer is not None:
            phase("transfer tasks", 0)  # before the first step moves the encoder
            rows += transfer.untrained_rows(encoder, kept_path(config, cache, "transfer"))
        check(scorer, model, config, rows, 0)
    file.rows = rows
    if file.step:
        progress({"note": f"goes on after step {file.step} of {steps}, from its checkpoint"})
    loaded = time.monotonic()
    curve = Curve(config, execution, rows, go_on=file.step > 0)

    def report(message: dict) -> None:
        if message.get("loss") is not None:
            curve.write(message["step"], message["loss"])
        progress(message)

    with file.listening(), own_stream(device):
        batches = training_batches(config, text, device, file.step)
        checks = partial(check, scorer, model, config, rows)
        training = train(config, model, batches, checks, report, file)
    trained = time.monotonic()
    rows += [Row("curve", "train", "loss", step, loss) for step, loss in training.losses]
    some = on(device, [text.table[i] for i in range(min(config.train.batch_size, len(text.table)))])
    numbers = model.diagnostics(some)
    rows += [Row("last", "train", name, steps, value) for name, value in numbers.items() if value is not None]
    phase("evaluate", steps)
    status: Status = "diverged"
    pairs: tuple[PairBlock, ...] = ()
    chosen = training.selected
    if training.diverged_at is not None:
        rows.append(Row("last", "train", "diverged_at", training.diverged_at, float("nan")))
    elif chosen is not None:  # the last step is checked
        status, pairs = final_evaluation(config, scorer, model, chosen, rows)
    if status != "diverged" and chosen is not None:  # the model now has the selected checkpoint's weights
        rows += length_rows(pairs, scorer.dev, chosen.step)
        copies = edited_copies(scorer.sets[scorer.dev], tokenizer, encoder.max_positions)
        rows += edit_rows(model, copies, device, chosen.step)
        if transfer is not None:
            phase("transfer tasks", steps)
            rows += transfer.rows(model, "selected", chosen.step)
        if execution.keep_models:
            source, results = encoder_folder(config, execution), Path(execution.results_dir)
            keep_model(config, model, source, results, chosen.step, execution.encoder_name)
    seconds = {
        "load": loaded - started,
        "train": file.earlier_seconds + trained - loaded,
        "evaluate": time.monotonic() - trained,
    }
    recorded = provenance.gather(execution, device, seconds, config.encoder.digest)
    recorded |= provenance.texts(text.rewritten)
    recorded["method_code"] = methods.code_digest(config.method)
    if training.step_seconds is not None:  # a time, so no row
        recorded["step_seconds"] = training.step_seconds
    if file.resumed_at:
        recorded["resumed_at_steps"] = file.resumed_at
    return Result(status=status, rows=tuple(rows), pairs=pairs, provenance=recorded)


class Curve:
    """A run's development curve as lines of JSON, for `tail -f`: `<results>/logs/<run id>.jsonl`. A line has
    run, step, of, dev (Spearman x 100), loss (mean since the last check), seconds.

    A resumed run appends, so it repeats the steps after its checkpoint. If the file cannot be written, the
    run goes on.
    """

    def __init__(self, config: RunConfig, execution: Execution, rows: list[Row], go_on: bool):
        self._run, self._steps, self._rows = run_id(config), config.train.steps, rows
        self._path = Path(execution.results_dir) / "logs" / f"{self._run}.jsonl"
        self._began, self._train, self._last = time.monotonic(), config.train, (0, time.monotonic())
        self._board: Any = None
        if execution.tensorboard is not None:
            board = importlib.import_module("torch.utils.tensorboard")
            self._board = board.SummaryWriter(str(Path(execution.tensorboard) / self._run))
        if not go_on:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
            self.write(0, None)

    def write(self, step: int, loss: float | None) -> None:
        """Append the latest check; numbers that are not finite become null."""
        scores = (row for row in reversed(self._rows) if row[:2] == ("curve", "dev"))
        dev = next(row.value for row in scores if "spearman" in row.metric)
        line = {
            "run": self._run, "step": step, "of": self._steps, "dev": _finite(dev), "loss": _finite(loss),
            "seconds": round(time.monotonic() - self._began, 2),
        }  # fmt: skip
        if self._board is not None:
            self._show(step, {"loss": loss, "development score": dev})
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "a") as file:
                file.write(json.dumps(line) + "\n")

    def _show(self, step: int, numbers: dict[str, float | None]) -> None:
        """The numbers of a check, the learning rate and the steps a second since the last check."""
        before, then = self._last
        self._last = step, time.monotonic()
        numbers["learning rate"] = learning_rate(self._train, step) if step else None
        seconds = max(1e-9, self._last[1] - then)
        numbers["steps a second"] = (step - before) / seconds if step > before else None
        for name, number in numbers.items():
            if number is not None:
                self._board.add_scalar(name, number, step)
        self._board.flush()


def _finite(value: float | None) -> float | None:
    return round(value, 4) if value is not None and math.isfinite(value) else None


def load_encoder(config: RunConfig, execution: Execution) -> tuple[Encoder, PreTrainedTokenizerBase]:
    """The pretrained encoder with the run's dropout, and its tokenizer."""
    folder = encoder_folder(config, execution)
    check_encoder(folder)
    if encoder_digest(folder) != config.encoder.digest:
        raise UserError(
            f"The encoder in {folder} is not the one that this run was planned with; plan it again."
        )
    checkpoint = load_checkpoint(folder, pooling="cls")
    encoder = from_pretrained(
        checkpoint.model,
        hidden_dropout=config.encoder.hidden_dropout,
        attention_dropout=config.encoder.attention_dropout,
        attention=config.encoder.attention,
    )
    check_length(config, encoder.max_positions, torch.device(execution.device).type)
    return encoder, checkpoint.tokenizer


def encoder_folder(config: RunConfig, execution: Execution) -> Path:
    """Where the encoder lies that the run starts from."""
    own = Path(execution.encoder_path) if execution.encoder_path else DEMO_ENCODER
    others = {digest: Path(path) for digest, path, _ in execution.other_encoders}
    return others.get(config.encoder.digest, own)


def training_text_of(
    config: RunConfig, execution: Execution, tokenizer, device: torch.device
) -> TrainingText:
    """The training text as token ids, as sentences where the method reads words, and rewritten where a view
    is (Table 5)."""
    data, longest = config.data, config.data.max_length
    sentences = training_text(data, execution.corpus_path) if config.reads_words else None
    table = cached_table(
        Path(execution.cache_dir),
        ["training", data.digest, data.reader, longest, config.encoder.digest],
        lambda: tokenise(tokenizer, sentences or training_text(data, execution.corpus_path), longest),
    )
    if config.rewriting is None:
        return TrainingText(table, sentences, tokenizer)

    def rewritten(view: str) -> TokenTable:
        return rewritten_table(config, execution, tokenizer, view, device)

    online = rewritten(ONLINE) if config.rewriting.view == "both" else table
    return TrainingText(online, sentences, tokenizer, rewritten(TARGET))


def scorer_for(
    scale: Scale, config: RunConfig, execution: Execution, tokenizer, encoder: Encoder, device: torch.device
) -> Scorer:
    """The scorer over the scale's sets."""
    sets, geometry_of = evaluation_sets(scale, config, execution)
    sentences = distinct_sentences([*(sets[name] for name in (*scale.tests, scale.dev)), *geometry_of])
    text_digest = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
    table = cached_table(
        Path(execution.cache_dir),
        ["evaluation", text_digest, encoder.max_positions, config.encoder.digest],
        lambda: tokenise(tokenizer, sentences, encoder.max_positions),
    )
    return Scorer(sets, scale.dev, scale.tests, geometry_of, sentences, table, device)


def evaluation_sets(
    scale: Scale, config: RunConfig, execution: Execution
) -> tuple[dict[str, StsSet], list[StsSet]]:
    """The sets that a run may score, and those that give alignment and uniformity: all of STS-B, or the
    development set of generated or own pairs (D43). Raises UserError if they are not what the configuration
    names."""
    root = None if execution.evaluation_path is None else Path(execution.evaluation_path)
    sets = own = own_sets([(name, Path(path)) for name, path in execution.pairs])
    if own:
        scale_root = root if scores_scale_sets(list(own)) else None
        sets = load_sts(scale_root) | own if scale_root is not None else own
        digest = own_digest(own, None if scale_root is None else evaluation_digest(scale_root))
    elif root is None:
        sets = load_demo()
        digest = sets_digest(sets)
        digest = probes_digest(digest, load_probes()) if config.eval.transfer else digest
    else:
        sets, digest = load_sts(root), evaluation_digest(root, config.eval.transfer)
    if digest != config.eval.digest:
        raise UserError("The evaluation data is not the one that this run was planned with; plan it again.")
    if own or root is None:
        return sets, [sets[scale.dev]]
    return sets, [load_stsb(root, "train"), sets["STS-B dev"], sets["STS-B"]]


def transfer_for(
    config: RunConfig, execution: Execution, tokenizer, encoder: Encoder, device: torch.device
) -> Transfer:
    """The scorer of the transfer tasks, or of the demo's own."""
    from core.engine.evaluation.transfer import Transfer, sentences  # few runs need scikit-learn

    root = execution.evaluation_path
    tasks = load_probes() if root is None else load_transfer(Path(root))
    table = cached_table(
        Path(execution.cache_dir),
        ["transfer", config.eval.digest, encoder.max_positions, config.encoder.digest],
        lambda: tokenise(tokenizer, sentences(tasks), encoder.max_positions),
    )
    return Transfer(tasks, table, device)
