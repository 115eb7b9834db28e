"""One run from configuration to result: load, check digests, train, select, evaluate."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from core.data.digests import evaluation_digest
from core.data.encoders import DEMO_ENCODER, encoder_digest
from core.data.own_data import own_digest, own_sets, scores_scale_sets, with_own_pairs
from core.data.sts import StsSet, load_demo, load_sts, load_stsb, sets_digest
from core.data.text import training_text
from core.data.transfer import load_probes, probes_digest
from core.engine import provenance
from core.engine.checkpoint import CheckpointFile, Unfit
from core.engine.curve_file import CurveFile
from core.engine.encoder.bert import Encoder, from_pretrained
from core.engine.encoder.packing import on
from core.engine.evaluation.baselines import baseline_rows
from core.engine.evaluation.edits import edit_rows, edited_copies
from core.engine.evaluation.encoding import load_checkpoint
from core.engine.evaluation.length_bias import length_rows
from core.engine.evaluation.probing import Probing
from core.engine.evaluation.rows import check, count_rows, development_rows, final_evaluation
from core.engine.evaluation.scorer import Scorer
from core.engine.kept_model import keep_model
from core.engine.rewriting import ONLINE, TARGET, rewritten_table
from core.engine.step import own_stream, slower
from core.engine.tokens import cached_table, tokenise
from core.engine.trainer import train, training_batches
from core.methods.contrastive import TrainingText
from core.spec import methods
from core.spec.conditions import check_length, check_precision
from core.spec.errors import UserError
from core.spec.identity import run_id
from core.spec.result import PairBlock, Result, Row, Status
from core.spec.run import Execution, RunConfig
from core.spec.scale import SCALES, Scale

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TRAINABLE = ("bert", "roberta")


def run(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """Train and evaluate one run. Raises UserError for data or an encoder that is not what the configuration names."""
    try:
        return attempt(config, execution, progress)
    except Unfit:
        return attempt(config, execution, progress)


def attempt(config: RunConfig, execution: Execution, progress: Callable[[dict], None]) -> Result:
    """One attempt at a run, from its checkpoint or from nothing. Raises Unfit if the checkpoint turns out not to fit the model."""
    started = time.monotonic()
    device = torch.device(execution.device)
    check_precision(config, device.type)
    torch.set_num_threads(execution.threads)
    progress(phase("load", 0, config))
    encoder, tokenizer = load_encoder(config, execution)
    scale = with_own_pairs(SCALES[config.scale], [name for name, _ in execution.pairs])
    text = training_text_of(config, execution, tokenizer, device)
    scorer = scorer_for(scale, config, execution, tokenizer, encoder, device)
    probing = Probing(config, execution, tokenizer, encoder.max_positions, device)
    file = CheckpointFile(config, execution, lambda text: progress({"note": text}))
    model = methods.model(config.method).Model(config, encoder, device)
    for sentence in slower(config.train, model, device):
        progress({"note": sentence})
    rows = file.saved_rows()
    if rows is None:
        rows = [*count_rows(scorer, execution), *baseline_rows(config, encoder, scorer, Path(execution.cache_dir))]
        if config.eval.transfer:
            progress(phase("transfer tasks", 0, config))
            rows += probing.untrained_rows(encoder)  # before the first step moves it
        rows += development_rows(scorer.development(model), scorer, config, 0)
    loaded = time.monotonic()
    curve = CurveFile(Path(execution.results_dir), run_id(config), config.train.steps, file.step)
    if not file.step:
        curve.check(0, development(rows), None)

    def told(message: dict) -> None:
        if message.get("loss") is not None:
            curve.check(message["step"], development(rows), message["loss"])
        progress(message)

    file.rows = rows
    if file.step:
        progress({"note": f"goes on after step {file.step} of {config.train.steps}, from its checkpoint"})
    with file.listening(), own_stream(device):
        training = train(
            config,
            model,
            training_batches(config, text, device, file.step),
            lambda step: check(scorer, model, config, step, rows),
            told,
            file,
        )
    trained = time.monotonic()
    rows += [Row("curve", "train", "loss", step, loss) for step, loss in training.losses]
    some = on(device, [text.table[i] for i in range(min(config.train.batch_size, len(text.table)))])
    rows += [Row("last", "train", name, config.train.steps, value) for name, value in model.diagnostics(some).items() if value is not None]
    progress(phase("evaluate", config.train.steps, config))
    status: Status = "diverged"
    pairs: tuple[PairBlock, ...] = ()
    if training.diverged_at is None:
        chosen = training.selected
        assert chosen is not None, "the last step is checked"
        status, pairs = final_evaluation(config, scorer, model, chosen, rows)
        if status != "diverged":  # the model now has the selected checkpoint's weights
            step = chosen.step
            rows += length_rows(pairs, scorer.dev, step)
            rows += edit_rows(model, edited_copies(scorer.sets[scorer.dev], tokenizer, encoder.max_positions), device, step)
            if config.eval.transfer:
                progress(phase("transfer tasks", config.train.steps, config))
                rows += probing.rows(model, "selected", step)
            if execution.keep_models:
                keep_model(config, model, encoder_folder(config, execution), Path(execution.results_dir), step, execution.encoder_name)
    else:
        rows.append(Row("last", "train", "diverged_at", training.diverged_at, float("nan")))
    training_seconds = file.earlier_seconds + trained - loaded
    seconds = {"load": loaded - started, "train": training_seconds, "evaluate": time.monotonic() - trained}
    recorded = provenance.gather(execution, device, seconds, config.encoder.digest) | provenance.texts(text.rewritten)
    recorded["method_code"] = methods.code_digest(config.method)
    recorded |= {"step_seconds": training.step_seconds} if training.step_seconds is not None else {}  # a time, so no row
    recorded |= {"resumed_at_steps": file.resumed_at} if file.resumed_at else {}
    return Result(status=status, rows=tuple(rows), pairs=pairs, provenance=recorded)


def development(rows: list[Row]) -> float:
    """The development score of the latest check."""
    return next(row.value for row in reversed(rows) if (row.checkpoint, row.task) == ("curve", "dev") and row.metric.startswith("spearman"))


def phase(name: str, step: int, config: RunConfig) -> dict[str, object]:
    """The message that a run is now in this phase."""
    return {"phase": name, "step": step, "total": config.train.steps, "rate": None, "dev": None}


def load_encoder(config: RunConfig, execution: Execution) -> tuple[Encoder, PreTrainedTokenizerBase]:
    """The pretrained encoder with the run's dropout, and its tokenizer."""
    folder = encoder_folder(config, execution)
    checkpoint = load_checkpoint(folder, pooling="cls")
    if encoder_digest(folder) != config.encoder.digest:
        raise UserError(f"The encoder in {folder} is not the one that this run was planned with; plan it again.")
    if checkpoint.model.config.model_type not in TRAINABLE:
        raise UserError(
            f"{folder} holds a {checkpoint.model.config.model_type} model; only {' and '.join(TRAINABLE)} encoders can be trained."
        )
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


def training_text_of(config: RunConfig, execution: Execution, tokenizer, device: torch.device) -> TrainingText:
    """The training text as token ids, as sentences where the method reads words, and rewritten where a view is (Table 5)."""
    data = config.data
    sentences = training_text(data, execution.corpus_path) if config.reads_words else None
    table = cached_table(
        Path(execution.cache_dir),
        ["training", data.digest, data.reader, data.max_length, config.encoder.digest],
        lambda: tokenise(tokenizer, sentences or training_text(data, execution.corpus_path), data.max_length),
    )
    if config.rewriting is None:
        return TrainingText(table, sentences, tokenizer)
    online = rewritten_table(config, execution, tokenizer, ONLINE, device) if config.rewriting.view == "both" else table
    return TrainingText(online, sentences, tokenizer, rewritten_table(config, execution, tokenizer, TARGET, device))


def sets_with_own(execution: Execution) -> tuple[dict[str, StsSet], str]:
    """The user's own pairs, with the scale's sets if some of those are scored too, and the digest of all of them."""
    own = own_sets([(name, Path(path)) for name, path in execution.pairs])
    if not scores_scale_sets(list(own)):
        return own, own_digest(own, None)
    assert execution.evaluation_path is not None, "sets of the scale lie somewhere"
    root = Path(execution.evaluation_path)
    return load_sts(root) | own, own_digest(own, evaluation_digest(root))


def scorer_for(scale: Scale, config: RunConfig, execution: Execution, tokenizer, encoder: Encoder, device: torch.device) -> Scorer:
    """The scorer over the scale's sets; alignment and uniformity are over all of STS-B, or the generated development set (D43)."""
    if execution.pairs:
        sets, digest = sets_with_own(execution)
        geometry_sets = [sets[scale.dev]]
    elif execution.evaluation_path is None:
        sets = load_demo()
        digest = sets_digest(sets) if not config.eval.transfer else probes_digest(sets_digest(sets), load_probes())
        geometry_sets = [sets[scale.dev]]
    else:
        root = Path(execution.evaluation_path)
        sets = load_sts(root)
        digest = evaluation_digest(root, config.eval.transfer)
        geometry_sets = [load_stsb(root, "train"), sets["STS-B dev"], sets["STS-B"]]
    if digest != config.eval.digest:
        raise UserError("The evaluation data is not the one that this run was planned with; plan it again.")
    wanted = [sets[name] for name in (*scale.tests, scale.dev)] + geometry_sets
    sentences = list(dict.fromkeys(text for pairs in wanted for side in (pairs.a, pairs.b) for text in side))
    text_digest = hashlib.sha256("\n".join(sentences).encode()).hexdigest()
    table = cached_table(
        Path(execution.cache_dir),
        ["evaluation", text_digest, encoder.max_positions, config.encoder.digest],
        lambda: tokenise(tokenizer, sentences, encoder.max_positions),
    )
    return Scorer(sets, scale.dev, scale.tests, geometry_sets, sentences, table, device)
