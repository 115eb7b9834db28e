"""What a scale is made of on this machine: training text, evaluation sets and encoder, by content. No torch here."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.data import pins
from core.data.digests import evaluation_digest, named_digest
from core.data.encoders import check_encoder, configuration
from core.data.graded import check_sets
from core.data.senteval import senteval_root, transfer_files
from core.data.text import MOST_BYTES, measure
from core.store import files
from core.store.store import Store
from core.spec.errors import UserError
from core.spec.scale import EncoderSource, Scale, Sources

DEMO_ENCODER = Path(__file__).resolve().parents[1] / "demo" / "encoder"
CORPUS_NAMES = ("wiki_sentences.txt", "wiki1m_for_simcse.txt")
MOST_CACHE = 64 << 20  # bytes of what is remembered about texts
HEADER_BYTES = 100_000_000  # more than this no safetensors file has
# Everything in an encoder's folder that can move a number; what is not there does not count.
ENCODER_FILES = (
    "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the parts of a scale lie; all None at scale demo, whose parts belong to the project. Names are for labels."""

    corpus: Path | None = None
    evaluation: Path | None = None
    encoder: Path | None = None
    corpus_name: str = ""
    evaluation_name: str = "SentEval"
    encoder_name: str = ""
    others: tuple[tuple[str, Path, str], ...] = ()  # (which of the papers' it stands for, folder, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The sources of a scale and their places. The names in `sources` are for labels only."""

    sources: Sources
    places: Places

    def provenance(self) -> dict[str, object]:
        """What a result records so that its table can be drawn where the data is not at hand."""
        return {
            "encoder_hidden": self.sources.encoder_hidden,
            "corpus_rows": self.sources.corpus_rows,
            "corpus_rows_csv_quoted": self.sources.corpus_rows_csv_quoted,
            "encoders": [[one.stands_for, one.digest, one.hidden, one.name] for one in self.sources.encoders()],
            "evaluation_digest": self.sources.evaluation_digest,
            "transfer_digest": self.sources.transfer_digest,
            "encoder_masked_words": self.sources.encoder_masked_words,
            "corpus": self.sources.corpus_name,
            "evaluation": self.sources.evaluation_name,
        }


def encoder_digest(folder: Path) -> str:
    """SHA-256 over an encoder's weights, configuration and tokenizer files, by name and content."""
    return named_digest((name, Path(folder) / name) for name in ENCODER_FILES if (Path(folder) / name).is_file())


def demo_sources() -> Found:
    """Scale demo: everything is shipped or generated."""
    sources = Sources(
        corpus_digest=pins.DEMO_CORPUS_DIGEST, corpus_rows=pins.DEMO_CORPUS_ROWS, corpus_name="generated sentences",
        encoder_digest=encoder_digest(DEMO_ENCODER), encoder_hidden=configuration(DEMO_ENCODER)["hidden_size"], encoder_name="demo encoder",
        encoder_masked_words=has_masked_words(DEMO_ENCODER),
        evaluation_digest=pins.DEMO_EVALUATION_DIGEST, evaluation_name="generated pairs",
        transfer_digest=pins.DEMO_TRANSFER_DIGEST,
    )  # fmt: skip
    return Found(sources=sources, places=Places())


def local_places(data_dir: Path | None, encoder: Path | None, others: Sequence[tuple[str, Path]] = ()) -> Places:
    """The places that the user named; parts not named stay None. Raises UserError for a part that should be there and is not."""
    corpus = evaluation = None
    if data_dir is not None:
        if not data_dir.is_dir():
            raise UserError(f"--data-dir {data_dir} is no folder; give one with SentEval's data and a text file.")
        evaluation = senteval_root(data_dir)
        corpus = corpus_file(data_dir)
    for folder in ([encoder] if encoder is not None else []) + [folder for _, folder in others]:
        if not folder.is_dir():
            raise UserError(f"--encoder {folder} is no folder; give one saved by transformers.")
        if not (folder / "config.json").is_file():
            raise UserError(f"--encoder {folder} holds no config.json; give a folder saved by transformers.")
    return Places(
        corpus=corpus, evaluation=evaluation, encoder=encoder, corpus_name=corpus.name if corpus else "",
        encoder_name=_folder_name(encoder) if encoder else "",
        others=tuple((stands_for, folder, _folder_name(folder)) for stands_for, folder in others),
    )  # fmt: skip


def corpus_file(data_dir: Path) -> Path:
    """The training text in a data folder: one of the known names, or the only text file but for a README."""
    for name in CORPUS_NAMES:
        if (data_dir / name).is_file():
            return data_dir / name
    texts = sorted(p for p in data_dir.glob("*.txt") if p.is_file() and not p.stem.lower().startswith(("readme", "license")))
    if len(texts) == 1:
        return texts[0]
    problem = f"has {len(texts)} text files" if texts else "has no training text"
    raise UserError(
        f"{data_dir} {problem}; put the sentences, one a line, into {CORPUS_NAMES[0]} there, or use --scale demo, which needs none."
    )


def local_sources(places: Places, cache_dir: Path) -> Found:
    """Scales mini and paper: check and hash what lies at these places. Raises UserError for what no run could be trained on."""
    for folder in (places.encoder, *(folder for _, folder, _ in places.others)):
        check_encoder(folder)
    check_sets(places.evaluation)
    cache = DigestCache(cache_dir / "digests.json")
    digest, rows, quoted = cache.text(places.corpus)
    sources = Sources(
        corpus_digest=digest, corpus_rows=rows, corpus_rows_csv_quoted=quoted, corpus_name=places.corpus_name,
        encoder_digest=encoder_digest(places.encoder), encoder_hidden=configuration(places.encoder)["hidden_size"], encoder_name=places.encoder_name,
        evaluation_digest=evaluation_digest(places.evaluation), evaluation_name=places.evaluation_name,
        others=tuple(
            EncoderSource(stands_for=stands_for, digest=encoder_digest(folder), hidden=configuration(folder)["hidden_size"], name=name)
            for stands_for, folder, name in places.others
        ),
        transfer_digest=_transfer_digest(places.evaluation),
        encoder_masked_words=has_masked_words(places.encoder),
    )  # fmt: skip
    return Found(sources=sources, places=places)


def recorded_sources(scale: Scale, store: Store) -> Found | None:
    """The sources that most of the stored runs of a scale were made with, or None: for drawing where the data is not at hand."""
    return recorded(store).get(scale.name)


def recorded(store: Store) -> dict[str, Found]:
    """The sources that most of the stored runs of each scale were made with, by the scale's name; every run is read once."""
    counted: dict[str, Counter[Sources]] = {}
    for identity in store.runs():
        with contextlib.suppress(UserError):  # a damaged or foreign file says nothing about sources
            stored = store.load(identity)
            if "encoder_hidden" in stored.provenance:
                counted.setdefault(stored.config.scale, Counter())[_sources_of(stored)] += 1
    return {scale: Found(sources=found.most_common(1)[0][0], places=Places()) for scale, found in counted.items()}


def _sources_of(stored) -> Sources:
    config, recorded = stored.config, stored.provenance
    known = [EncoderSource(stands_for=s, digest=d, hidden=int(h), name=n) for s, d, h, n in recorded.get("encoders") or ()]
    own = next((one for one in known if one.stands_for == "bert-base"), None) or EncoderSource(
        stands_for="bert-base", digest=config.encoder.digest, hidden=int(recorded["encoder_hidden"]), name=str(recorded.get("encoder", ""))
    )
    return Sources(
        corpus_digest=config.data.digest, corpus_rows=int(recorded.get("corpus_rows", config.data.rows)),
        corpus_rows_csv_quoted=recorded.get("corpus_rows_csv_quoted"), corpus_name=str(recorded.get("corpus", "")),
        encoder_digest=own.digest, encoder_hidden=own.hidden, encoder_name=own.name,
        encoder_masked_words=bool(recorded.get("encoder_masked_words", False)),
        evaluation_digest=str(recorded.get("evaluation_digest", config.eval.digest)),
        evaluation_name=str(recorded.get("evaluation", "")), transfer_digest=recorded.get("transfer_digest"),
        others=tuple(one for one in known if one.stands_for != "bert-base"),
    )  # fmt: skip


def _transfer_digest(evaluation: Path) -> str | None:
    """The digest of the evaluation sets with the transfer tasks, or None where those are not all there."""
    root = senteval_root(evaluation)
    there = all((root / file).is_file() for file in transfer_files())
    return evaluation_digest(root, transfer=True) if there else None


def has_masked_words(folder: Path) -> bool:
    """Whether an encoder's checkpoint holds BERT's or RoBERTa's masked-word head, from the names in the weights file's header."""
    try:
        with open(folder / "model.safetensors", "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            names = json.loads(file.read(min(length, HEADER_BYTES)))
    except (OSError, ValueError):
        return False  # several files, or a damaged one, of which loading it will say more
    return any(name.startswith(("cls.predictions.transform.", "lm_head.dense.")) for name in names)


def _folder_name(folder: Path) -> str:
    """What to call an encoder: its folder's name, with the one above where that says nothing."""
    folder = folder.resolve()
    return f"{folder.parent.name}/{folder.name}" if folder.name == "model" else folder.name


class DigestCache:
    """Digest and rows of large texts, kept by path, size and times of change, which are compared for being the same and never
    for order; a cache that cannot be read is begun anew."""

    def __init__(self, path: Path):
        self._path = path

    def text(self, file: Path) -> tuple[str, int, int]:
        """SHA-256 of a text file and its sentences, by line and as the released reader finds them (D36).

        Raises UserError if it cannot be read.
        """
        try:
            state = os.stat(file)
            key = f"{file.resolve()}|{state.st_size}|{state.st_mtime_ns}|{state.st_ctime_ns}|{state.st_ino}"
            known = self._read()
            if key not in known:
                digest, rows = measure(files.content(file, MOST_BYTES), str(file))
                known[key] = [digest, rows["lines"], rows["csv_quoted"]]
        except OSError as error:
            raise UserError(f"The training text {file} cannot be read ({error.strerror}); check --data-dir.") from error
        with contextlib.suppress(UserError):  # a cache that cannot be written costs seconds, no more
            files.write_whole(self._path, json.dumps(known, indent=1, sort_keys=True).encode())
        return tuple(known[key])

    def _read(self) -> dict[str, list]:
        try:
            known = json.loads(files.content(self._path, MOST_CACHE))
            return {k: v for k, v in known.items() if [type(x) for x in v] == [str, int, int]}
        except (OSError, ValueError, AttributeError, TypeError, RecursionError):
            return {}
