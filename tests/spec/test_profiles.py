"""The three profiles: what the papers' own words say of each field, and that no run of a paper's study has moved.

The quotations are looked up in the papers' texts where those lie beside this checkout (../shared/reference/papers).
"""

import hashlib
import re
import unicodedata

import pytest
from made_scales import PAPER_SOURCES, cell_run
from places import SHARED

from core.spec.identity import run_id
from core.spec.methods import PROFILES, base
from core.spec.scale import PAPER
from core.spec.vary import read
from studies import STUDIES, find

PAPERS = SHARED / "reference" / "papers"
FILES = {"mocose": "00[023]_*.txt", "poster": "001_*.txt", "esimcse": "004_*.txt"}

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


def test_the_base_has_what_the_paper_says():
    for method, path, value, _, _ in SAID:
        assert read(base(method, "paper"), path) == value, (method, path)


def test_cells_have_what_the_paper_says_of_their_table():
    for name, labels, values, _, _ in SAID_OF_CELLS:
        study = find(name)
        (cell,) = study.matching(labels)
        run = study.paper_config(cell, "paper")
        assert {path: read(run, path) for path in values} == values, (name, labels)


def test_the_words_are_the_papers(texts):
    quotes = [(method, quote) for method, _, _, quote, _ in SAID]
    quotes += [(find(name).paper, quote) for name, _, _, quote, _ in SAID_OF_CELLS]
    for paper, quote in quotes:
        assert any(plain(quote) in text for text in texts[paper]), quote


# By paper study, the digest of its cells' run ids under paper, repaired and released, at scale paper. A study that gains
# or loses cells gets new digests; no other study's may move.
PINNED = {
    "mocose-table1": "43215f 613e77 9556b8", "mocose-table2": "1e4ba2 7765ad c20a84",
    "mocose-table3": "e6ff4b c84ea9 004fe8", "mocose-table4": "be7526 ac0569 94c259",
    "mocose-table5": "89cecd 8300e2 af96da", "mocose-table6a": "1be012 08365e b9ccbf",
    "mocose-table6b": "39d22e 1a0095 958098", "mocose-table7": "1a4369 cfd594 39af83",
    "mocose-table8": "bbffe8 1e7e76 15b351", "mocose-table9": "d145f1 573b88 ba787c",
    "mocose-figure2": "4a6b94 e41326 b1daf3", "mocose-figure3": "d48295 6f1071 3ccdf2",
    "mocose-figure4": "4b3a55 e87435 9e656e", "mocose-figure5": "fb7261 5c61b2 923b4b",
    "mocose-figure7": "bf3e39 0b3bdf 4907b2", "mocose-figure12": "1baaa7 1d681d 0004fc",
    "mocose-figure13": "8d3339 93a5b6 ded81c", "mocose-kmeans": "bbe178 2a815d f6fe4a",
    "esimcse-table1": "3c83d5 693c85 8746ee", "esimcse-table2": "575a4d 575a4d 23cd37",
    "esimcse-table3": "575a4d 575a4d 23cd37", "esimcse-table4": "42200c 1253e7 006d73",
    "esimcse-table5": "42200c 1253e7 006d73", "esimcse-table6": "083635 083635 a60115",
    "esimcse-table7": "083635 083635 a60115", "esimcse-table8": "b3c890 b3c890 ea69a4",
    "esimcse-table9": "1c4601 9a5740 754232", "esimcse-table10": "25bd6c f93667 b3b2dc",
    "esimcse-table11": "a0f643 a0f643 3b3a30", "esimcse-figure2": "dcccdf dcccdf 8a579d",
}  # fmt: skip


def digest(study, profile):
    cells = [cell_run(study, cell, profile=profile, scale=PAPER, sources=PAPER_SOURCES, seed=5) for cell in study.cells]
    return hashlib.sha256(" ".join(sorted({run_id(run) for run in cells})).encode()).hexdigest()[:6]


def test_no_run_of_a_paper_study_has_moved():
    studies = [study for study in STUDIES if study.paper in ("mocose", "esimcse")]
    assert {study.name: " ".join(digest(study, profile) for profile in PROFILES) for study in studies} == PINNED
