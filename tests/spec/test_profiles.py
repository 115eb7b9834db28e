"""The three profiles: what the papers' own words say of each field, where the profiles part, and that the two code-sided ones stand still.

The quotations are looked up in the papers' texts where those lie beside this checkout (../shared/reference/papers).
"""

import hashlib
import json
import re
import unicodedata

import pytest
from places import SHARED, SUPPORT

from core.spec import methods
from core.spec.identity import to_plain
from core.spec.methods import PROFILES, base
from core.spec.scale import PAPER, EncoderSource, Sources
from core.spec.vary import paths, read, vary
from studies import find

PAPERS = SHARED / "reference" / "papers"
FILES = {"mocose": "00[023]_*.txt", "poster": "001_*.txt", "esimcse": "004_*.txt"}
OTHERS = tuple(
    EncoderSource(stands_for=name, digest=name, hidden=width, name=name)
    for name, width in (("bert-large", 1024), ("roberta-base", 768), ("roberta-large", 1024))
)
SOURCES = Sources(
    corpus_digest="c", corpus_rows=1_000_000, corpus_name="t", encoder_digest="e", encoder_hidden=768, encoder_name="b",
    evaluation_digest="v", evaluation_name="s", corpus_rows_csv_quoted=995_447, others=OTHERS, transfer_digest="tr",
)  # fmt: skip

# Method, path, the paper's value, its words, their place.
SAID = [
    ("mocose", "data.rows", 1_000_000, "1 million sentences from the English Wikipedia", "4.1"),
    ("mocose", "encoder.hidden_dropout", 0.1, "(dropout = 0.1", "3"),
    ("mocose", "heads.projection_layers", 1, "projection is 1 layer and the prediction has 2 layers", "5.2"),
    ("mocose", "heads.predictor_layers", 2, "projection is 1 layer and the prediction has 2 layers", "5.2"),
    ("mocose", "heads.out_size", 768, "keep the dimension of the predictor consistent with the encoder", "5.4"),
    ("mocose", "heads.projection_tail", "linear",
     "The pooler, projection and prediction layers are all composed of several fully connected layers", "3"),
    ("mocose", "loss.in_batch_negatives", False,
     "calculates contrasting loss between query, key and negative queue to update the online branch", "3"),
    ("mocose", "queue.size", 512, "The negative queue size is 512", "4.1"),
    ("mocose", "queue.init", "paper_grow",
     "only a small portion of the queue is randomly initialized at the beginning, and then enqueue and dequeue normally", "3"),
    ("mocose", "target.stop_gradient", True, "The target branch truncates the gradient and updated with the EMA mechanism", "3"),
    ("mocose", "target.freeze_projection", True, "The target branch truncates the gradient and updated with the EMA mechanism", "3"),
    ("mocose", "target.dropout", "on", "two versions of the sentence embedding are generated through data augmentation (dropout", "3"),
    ("mocose", "ema.schedule", "constant", "the best result is obtained when the decay weight of EMA is set to 0.85", "5.1"),
    ("mocose", "ema.start", 0.85, "the best result is obtained when the decay weight of EMA is set to 0.85", "5.1"),
    ("mocose", "ema.when", "after_optimizer_step", "optimizer(l", "Algorithm 1"),
    ("mocose", "fgsm.epsilon", 5e-9, "the average results of the model are optimal when the FGSM parameter is 5e-9", "A.7"),
    ("mocose", "fgsm.gradient", "current", "FGSM first calculates the derivative of model with respect to the input", "3"),
    ("mocose", "fgsm.views", "online_only", "slightly enhances the difference between the two samples", "5.3"),
    ("mocose", "aug.feature_cutoff", 0.0, "we discard the feature cut off method", "5.3"),
    ("mocose", "train.batch_size", 64, "the batch size of the base model is 64", "4.1"),
    ("mocose", "train.learning_rate", 3e-5, "learning rate of MoCoSE-BERT-base is set to 3e-5", "4.1"),
    ("mocose", "train.weight_decay", 1e-6, "weight decay of 1e-6", "4.1"),
    ("mocose", "eval.every", 100, "We validate the model every 100 step and train for one epoch", "4.1"),
    ("mocose", "eval.vector", "cls_before_pooler", "token embedding from the model output as the sentence embedding", "4.1"),
    ("esimcse", "train.batch_size", 64, "Adam optimizer with the batch size = 64", "4.2"),
    ("esimcse", "train.learning_rate", 3e-5, "3e-5 for ESimCSE-BERT", "4.2"),
    ("esimcse", "loss.temperature", 0.05, "the hyper-parameter temperature τ=0.05", "4.2"),
    ("esimcse", "encoder.hidden_dropout", 0.1, "p=0.1 for base models, p=0.15 for large models", "4.2"),
    ("esimcse", "momentum.lambda", 0.995, "relatively large momentum λ=0.995", "4.2"),
    ("esimcse", "momentum.init", "pretrained_copy", "taking the moving-average of its parameters", "1"),
    ("esimcse", "momentum.dropout", "off", "turn off dropout when using the momentum encoder", "1"),
    ("esimcse", "queue.size", 160, "The optimal result is reached when the queue size was 2.5 times the batch size", "5.4"),
    ("esimcse", "dup.rate", 0.32, "when dup_rate = 0.32", "5.2"),
    ("esimcse", "dup.unit", "subword", "We use sub-word repetition instead of word repetition", "4.2"),
    ("esimcse", "dup.range", "paper", "[0, max(2, int(dup_rate*N))]", "eq. 4"),
    ("esimcse", "dup.cap", None, "[0, max(2, int(dup_rate*N))]", "eq. 4"),
    ("esimcse", "eval.every", 125, "evaluate the model every 125 training steps on the development set of STS-B", "4.2"),
    ("esimcse", "select.metric", "stsb_dev", "keep the best checkpoint for the final evaluation on test sets", "4.2"),
]  # fmt: skip
# Study, labels, path, the paper's value, its words, their place: what concerns a table and not the base.
SAID_OF_CELLS = [
    ("table1", ("MoCoSE-BERT-base", "avg"), {"ema.schedule": "cosine_to_end", "ema.start": 0.75, "ema.end": 0.95},
     "incremented from 0.75 to 0.95 by the cosine function", "4.1"),
    ("table1", ("MoCoSE-BERT-large", "avg"), {"train.batch_size": 32}, "the batch size of the large model is 32", "4.1"),
    ("table2", ("MoCoSE-BERT-large", "test", "avg"), {"train.learning_rate": 1e-5}, "for MoCoSE-BERT-large is 1e-5", "4.1"),
    ("table3", ("0.99",), {"ema.schedule": "constant", "ema.start": 0.99},
     "set different values of EMA decay weight and train the model with other hyperparameters held constant", "5.1"),
    ("table5", ("Position shuffle",), {"aug.position_shuffle": "per_sentence", "aug.position_shuffle_range": "real_tokens"},
     "several vector-level methods mentioned in ConSERT", "4.1"),
    ("table5", ("Token dropout 0.1",), {"aug.token_cutoff_pool": "real_tokens"}, "Removing one word from the text", "5.3"),
    ("table5", ("Synonym replace",), {"text.kind": "contextual_substitute"}, "For synonym replace, we use", "A.1"),
    ("table8", ("all",), {"eval.every": 100}, "We validate the model every 100 step", "4.1"),
    ("table8", ("all",), {"queue.size": 1024, "queue.init_size": 128, "train.batch_size": 256},
     "negative queue length to 1024, the initial queue size to 128, and the batch size to 256", "5.6"),
    ("figure5", ("no predictor, η = 0", "last"), {"ema.schedule": "constant", "ema.start": 0.0, "heads.predictor_layers": 0},
     "We remove the online branch predictor and set the EMA decay weight to 0", "A.2"),
    ("esimcse-table4", ("ESimCSE", "BERT-large"), {"encoder.hidden_dropout": 0.15, "encoder.attention_dropout": 0.15},
     "p=0.15 for large models", "4.2"),
    ("esimcse-table4", ("ESimCSE", "RoBERTa-large"), {"train.learning_rate": 1e-5, "dup.rate": 0.32, "queue.size": 160},
     "1e-5 for other models", "4.2"),
]  # fmt: skip


def plain(text):
    """Text with what typesetting and its reading back add taken out: spaces, hyphens, ligatures, TeX marks, kinds of quotation marks."""
    text = re.sub(
        r"\\(mathbf|mathrm|text|textbf|operatorname)\b|\\lambda|\\tau|\\_", lambda m: {"\\lambda": "λ", "\\tau": "τ"}.get(m[0], ""), text
    )
    text = unicodedata.normalize("NFKC", text).lower()
    return re.sub(r"[^a-z0-9λτη.=/()\[\],]", "", text.replace("_", "").replace("-", "").replace("−", "").replace("—", ""))


@pytest.fixture(scope="module")
def texts():
    if not PAPERS.is_dir():
        pytest.skip("the papers' texts are not beside this checkout (../shared/reference/papers)")
    return {paper: [plain(path.read_text()) for path in sorted(PAPERS.glob(pattern))] for paper, pattern in FILES.items()}


@pytest.mark.parametrize("method, path, value, quote, place", SAID, ids=[f"{row[0]} {row[1]}" for row in SAID])
def test_the_base_has_what_the_paper_says(method, path, value, quote, place):
    assert read(base(method, "paper"), path) == value


@pytest.mark.parametrize("quote, method", sorted({(row[3], row[0]) for row in SAID}))
def test_the_words_are_the_papers(texts, quote, method):
    assert any(plain(quote) in text for text in texts[method])


@pytest.mark.parametrize("name, labels, values, quote, place", SAID_OF_CELLS, ids=[f"{row[0]} {'/'.join(row[1])}" for row in SAID_OF_CELLS])
def test_cells_have_what_the_paper_says_of_their_table(texts, name, labels, values, quote, place):
    study = find(name)
    (cell,) = study.matching(labels)
    run = study.paper_config(cell, "paper")
    assert {path: read(run, path) for path in values} == values
    assert any(plain(quote) in text for text in texts[study.paper])


# Today's `repaired`, which is older than `paper`: every field, written out.
SHARED = {
    "scale": "paper", "data.digest": "", "data.rows": 1_000_000, "data.reader": "lines", "data.max_length": 32, "data.drop_last": True,
    "encoder.digest": "", "encoder.hidden_dropout": 0.1, "encoder.attention_dropout": 0.1, "encoder.attention": "eager",
    "loss.temperature": 0.05, "loss.in_batch_negatives": True, "text": None,
    "train.steps": 15_625, "train.batch_size": 64, "train.learning_rate": 3e-5, "train.warmup_fraction": 0.0, "train.clip_norm": 1.0,
    "train.beta1": 0.9, "train.beta2": 0.999, "train.epsilon": 1e-8, "eval.digest": "", "eval.apply_augmentation": False,
    "eval.transfer": False, "select.metric": "stsb_dev", "select.score": None, "sts.aggregate": "all", "seed.model": 0, "seed.data": 0,
}  # fmt: skip
PLAIN = {
    **SHARED, "data.padding": "dynamic", "heads": None, "target": None, "ema": None, "fgsm": None, "aug": None,
    "train.weight_decay": 0.0, "train.precision": "fp16", "eval.every": 125, "eval.vector": None, "eval.head": "off",
}  # fmt: skip
REPAIRED_BASE = {
    "mocose": {
        **SHARED, "method": "mocose", "data.padding": "static", "heads.projection_layers": 1, "heads.predictor_layers": 2,
        "heads.out_size": 768, "heads.predictor_hidden": None, "heads.projection_tail": "linear_ln_dropout", "heads.dropout": 0.1,
        "queue.size": 512, "queue.init": "paper_grow", "queue.init_size": 128, "queue.slice": None, "queue.negatives": "entries",
        "queue.clusters": None, "target.stop_gradient": True, "target.freeze_projection": True, "target.embeddings": "shared",
        "target.dropout": "on", "ema.schedule": "released_cosine", "ema.start": 0.85, "ema.end": 1.0, "ema.total_updates": 15_000,
        "ema.when": "after_optimizer_step", "fgsm.epsilon": 5e-9, "fgsm.gradient": "stale_online", "fgsm.views": "both_same",
        "fgsm.at_eval": False, "aug.position_shuffle": "off", "aug.position_shuffle_range": None, "aug.token_cutoff": 0.0,
        "aug.token_cutoff_pool": None, "aug.feature_cutoff": 0.0, "dup": None, "momentum": None, "train.weight_decay": 1e-6,
        "train.precision": "fp32", "eval.every": 100, "eval.vector": "cls_before_pooler", "eval.head": None,
    },
    "simcse": {**PLAIN, "method": "simcse", "queue": None, "dup": None, "momentum": None},
    "esimcse": {
        **PLAIN, "method": "esimcse", "queue.size": 160, "queue.view": "original", "queue.cut_first_batch": True, "dup.rate": 0.32,
        "dup.unit": "subword", "dup.range": "paper", "dup.cap": 10, "dup.recut": False, "dup.protect_special": True,
        "dup.resample": "per_epoch", "momentum.lambda": 0.995, "momentum.init": "pretrained_copy", "momentum.head": "online",
        "momentum.dropout": "off", "momentum.when": "after_forward",
    },
}  # fmt: skip
ADDED = {"train.adamw", "train.new_layer_factor"}  # fields that came later; a further one goes here


@pytest.mark.parametrize("method", REPAIRED_BASE)
def test_repaired_is_what_clean_was(method):
    run = base(method, "repaired")
    assert {path: read(run, path) for path in paths(run) if path in REPAIRED_BASE[method]} == {
        path: value for path, value in REPAIRED_BASE[method].items() if value is not None or path in paths(run)
    }
    assert run.train.adamw == "torch" and base(method, "released").train.adamw == "transformers"


@pytest.mark.parametrize("method", methods.names())
def test_the_profiles_differ_exactly_where_it_is_listed(method):
    paper, repaired, released = (base(method, profile) for profile in PROFILES)
    assert paper == vary(repaired, {path: read(paper, path) for path in methods.method(method).repaired})
    assert repaired == vary(
        released, {path: read(repaired, path) for path in methods.method(method).released if not path.startswith("text.")}
    )
    for path in paths(paper):
        assert (read(paper, path) != read(repaired, path)) == (path in methods.method(method).repaired)


PINNED = SUPPORT / "pinned_configurations.json"  # by profile and study: the configurations as they were, 6 hex digits each


def digest(run):
    """Of a configuration's fields, but for those that came later; runs of any number are told apart by the first 24 bits."""

    def leaves(value, path=""):
        if not isinstance(value, dict):
            return {path: value}
        return {k: v for name, inner in value.items() for k, v in leaves(inner, f"{path}.{name}".strip(".")).items()}

    known = {path: value for path, value in leaves(to_plain(run)).items() if path not in ADDED}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:6]


def configurations(profile, study):
    """Digests of all cells of a study at scale paper under one seed, in the method's own precision, which the scale had then; under
    `repaired` with the cap that is left off where it changes nothing."""
    runs = [study.config(cell, profile=profile, scale=PAPER, sources=SOURCES, seed=5) for cell in study.cells]
    assert {run.train.precision for run in runs} == {"bf16"}
    runs = [vary(run, {"train.precision": base(run.method, profile).train.precision}) for run in runs]
    capped = {"dup.cap": 10} if profile == "repaired" else {}
    return {digest(vary(run, capped) if getattr(run, "dup", None) is not None else run) for run in runs}


@pytest.mark.parametrize("profile", ["repaired", "released"])
def test_no_run_of_the_code_sided_profiles_has_moved(profile):
    """Every configuration of every paper study as it was under `repaired` and `released` before there was `paper`.

    A change to a study or a base that is meant for `paper` alone must not touch them. Studies may gain cells.
    """
    pinned = json.loads(PINNED.read_text())[profile]
    assert len(pinned) > 25
    for name, kept in pinned.items():
        assert set(kept) <= configurations(profile, find(name)), name
