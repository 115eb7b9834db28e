"""What runs are made of, by content: the shipped demo and the files from the hub.

A digest of a hub's file stands here only where a public source states it for that revision. Where revision or digest is
None, `core.data.hub` takes what the hub has at first use, checks it against the digest that the hub declares, and keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DEMO_FOLDER = Path(__file__).resolve().parents[1] / "demo"
# A test compares these digests with the shipped files.
# SHA-256 of the training text, one sentence a line, no newline at the end
DEMO_CORPUS_DIGEST = "a18f540387b8a51b17cb8a38d4c5e5b3648abe5471377e980e1e83c799f09c2a"
DEMO_CORPUS_ROWS = 16_000
# SHA-256 of the graded pairs, as core.data.sts.sets_digest takes it
DEMO_EVALUATION_DIGEST = "d51df8d583f32701fd8c9e5e17b71cf39c7b6cbbc672acd95072f744d635711e"
# SHA-256 of the graded pairs and the labelled sentences and of how probes are fitted, as core.data.transfer.probes_digest takes it
DEMO_TRANSFER_DIGEST = "aed40945ec901d8f059020c3c1f273d77c16409fbf3c516fe4d64389b42aab9d"

WITHOUT = "--scale demo runs without"  # the end of every sentence about the hub

_BERT_VOCABULARY = {
    "tokenizer.json": "ce64fce797c24f68df90b40a3f74f579b336a493db14bd583fd520ea0d8c9a98",
    "tokenizer_config.json": "a025160ef0431f1a392f6f050c1310f4c5d9fb6f275932dbccba73c4d214bf10",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


@dataclass(frozen=True)
class Repository:
    """A repository on the hub: its files by name, each with its SHA-256 or None, and its commit or None."""

    name: str
    kind: Literal["model", "dataset"]
    revision: str | None
    files: dict[str, str | None]


CORPUS_FILE, EVALUATION_FILE = "wiki1m_for_simcse.txt", "senteval.tar"
# One million sentences; readers that count what follows the last newline find one more (D78).
CORPUS_ROWS = (1_000_000, 1_000_001)

DATA = Repository("princeton-nlp/datasets-for-simcse", "dataset", None, {CORPUS_FILE: None, EVALUATION_FILE: None})

ENCODERS: dict[str, Repository] = {
    "bert-base-uncased": Repository(
        "google-bert/bert-base-uncased", "model", "86b5e0934494bd15c9632b12f734a8a67f723594",
        {
            "config.json": "7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20",
            "model.safetensors": "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
            **_BERT_VOCABULARY,
        },
    ),
    "bert-large-uncased": Repository(
        "google-bert/bert-large-uncased", "model", "6da4b6a26a1877e173fca3225479512db81a5e5b",
        {
            "config.json": "f9a38c9ffa369f288c3206d0bf352dfed11d7bdee93aa5b2de6d7fdc7bff7871",
            "model.safetensors": "28349a5c57338d0dca591bb95de533897c2399095c69d61e09604b46f444a4c4",
            **_BERT_VOCABULARY,
        },
    ),
    "roberta-base": Repository(
        "FacebookAI/roberta-base", "model", "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
        {
            "config.json": "ef0185e2aae6e06c5f105a285006952c340e20c7dbf43c86ec82601b13fc45e9",
            "model.safetensors": "5bde1d28afb363d0103324efeb5afc8b2b397fe5e04beabb9b1ef355255ade81",
            "tokenizer.json": "847bbeab6174d66a88898f729d52fa8d355fafe1bea101cf960dd404581df70e",
            "tokenizer_config.json": "994f46754c5bf4014f1aa92d34b1374319c3a6b3f702105cd5b742beaecd18ce",
            "vocab.json": "9e7f63c2d15d666b52e21d250d2e513b87c9b713cfa6987a82ed89e5e6e50655",
            "merges.txt": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        },
    ),
    "roberta-large": Repository(
        "FacebookAI/roberta-large", "model", "722cf37b1afa9454edce342e7895e588b6ff1d59",
        dict.fromkeys(
            ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.json", "merges.txt")
        ),
    ),
}  # fmt: skip

_TRANSLATION_FILES = ("config.json", "pytorch_model.bin", "merges.txt", "vocab-src.json", "vocab-tgt.json", "tokenizer_config.json")
# Models that rewrite text (Table 5), by the names of `text.model`; translation goes through the first and back through the second.
TEXT_MODELS: dict[str, tuple[Repository, ...]] = {
    "roberta-base": (ENCODERS["roberta-base"],),
    "xlnet-base-cased": (
        Repository(
            "xlnet/xlnet-base-cased", "model", None,
            dict.fromkeys(("config.json", "pytorch_model.bin", "spiece.model", "tokenizer.json")),
        ),
    ),
    "wmt19-en-de-en": (
        Repository("facebook/wmt19-en-de", "model", None, dict.fromkeys(_TRANSLATION_FILES)),
        Repository("facebook/wmt19-de-en", "model", None, dict.fromkeys(_TRANSLATION_FILES)),
    ),
}  # fmt: skip

DEFAULT_ENCODER = "bert-base-uncased"
