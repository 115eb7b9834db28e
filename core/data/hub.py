"""Training text, SentEval and encoders from the hub: `huggingface_hub` fetches each file once into
CACHE/hub, from HF_ENDPOINT if it is set.

The client names a large file by its SHA-256, and a small file by its SHA-1 in git. Every use
compares a file with the digest that stands here, which a public source states for that revision,
else with that name. Where the revision is None, the hub's at first use is kept.
"""

import contextlib
import hashlib
import os
import re
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from core.config.run import OWN_ENCODER, RunConfig
from core.config.scale import Sources
from core.data.encoders import encoder_in
from core.data.own_data import check_hub, scores_scale_sets
from core.data.sts import senteval_root
from core.data.text import file_digest
from core.errors import UserError, refusing
from core.formatting import say
from core.store import locks
from core.store.cache import cached
from core.store.files import sweep, whole

FETCH_FIRST = "only a command that trains fetches, so train with a network first or give a folder"
WITHOUT = "give --data-dir and --encoder, or take --scale demo, which needs none"
ENCODER_PLACE = re.compile("hf:([^@]+)@([0-9a-f]{40})")
TENSORS = re.compile(r"[^/]*[.](json|safetensors|txt|model)|[0-9]_[^/]*/[^/]*[.](json|safetensors)")
# digits
SHA1 = 40
SHA256 = 64
_BERT_VOCABULARY = {
    "tokenizer.json": "ce64fce797c24f68df90b40a3f74f579b336a493db14bd583fd520ea0d8c9a98",
    "tokenizer_config.json": "a025160ef0431f1a392f6f050c1310f4c5d9fb6f275932dbccba73c4d214bf10",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


@dataclass(frozen=True)
class Repository:
    """A repository on the hub: its commit or None, and its files by name, each with its SHA-256 or
    None."""

    name: str
    revision: str | None
    files: dict[str, str | None]
    kind: Literal["model", "dataset"] = "model"


CORPUS_FILE = "wiki1m_for_simcse.txt"
EVALUATION_FILE = "senteval.tar"
_DATA_FILES = dict.fromkeys((CORPUS_FILE, EVALUATION_FILE))
DATA = Repository("princeton-nlp/datasets-for-simcse", None, _DATA_FILES, "dataset")
ENCODER_REPOSITORIES = {  # by their names in the papers
    "bert-base": Repository(
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        {
            "config.json": "7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20",
            "model.safetensors": "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
            **_BERT_VOCABULARY,
        },
    ),
    "bert-large": Repository(
        "google-bert/bert-large-uncased",
        "6da4b6a26a1877e173fca3225479512db81a5e5b",
        {
            "config.json": "f9a38c9ffa369f288c3206d0bf352dfed11d7bdee93aa5b2de6d7fdc7bff7871",
            "model.safetensors": "28349a5c57338d0dca591bb95de533897c2399095c69d61e09604b46f444a4c4",
            **_BERT_VOCABULARY,
        },
    ),
    "roberta-base": Repository(
        "FacebookAI/roberta-base",
        "e2da8e2f811d1448a5b465c236feacd80ffbac7b",
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
        "FacebookAI/roberta-large",
        "722cf37b1afa9454edce342e7895e588b6ff1d59",
        dict.fromkeys(
            "config.json model.safetensors tokenizer.json tokenizer_config.json vocab.json "
            "merges.txt".split()
        ),
    ),
}
_FSMT = """config.json pytorch_model.bin merges.txt vocab-src.json vocab-tgt.json
    tokenizer_config.json""".split()
_XLNET = "config.json pytorch_model.bin spiece.model tokenizer.json".split()
# Models that rewrite text (Table 5), by the names of `text.model`; translation goes through the
# first and back through the second.
TEXT_MODELS: dict[str, tuple[Repository, ...]] = {
    "roberta-base": (ENCODER_REPOSITORIES["roberta-base"],),
    "xlnet-base-cased": (Repository("xlnet/xlnet-base-cased", None, dict.fromkeys(_XLNET)),),
    "wmt19-en-de-en": (
        Repository("facebook/wmt19-en-de", None, dict.fromkeys(_FSMT)),
        Repository("facebook/wmt19-de-en", None, dict.fromkeys(_FSMT)),
    ),
}


def missing_parts(places: Sources) -> list[str]:
    """The parts of a scale that `fetch_parts` would fetch: of text, sets and encoder."""
    missing = []
    if places.corpus is None:
        missing.append("text")
    sets = scores_scale_sets([name for name, _ in places.pairs])
    if places.evaluation is None and sets:
        missing.append("sets")
    if places.encoder.folder is None:
        missing.append("encoder")
    return missing


def fetch_parts(places: Sources, cache_dir: Path, others: Sequence[str] = ()) -> Sources:
    """`places` with what is missing, and with these other encoders, from the hub. Raises
    UserError."""
    for name in ("bert-base", *others):
        encoder = places.encoder_for(name)
        if encoder is None or encoder.folder is None:
            folder = fetch_folder(ENCODER_REPOSITORIES[name], cache_dir)
            places = places.with_encoders(encoder_in(name, folder, cache_dir))
    missing = missing_parts(places)
    if "text" in missing:
        places = replace(places, corpus=fetch(DATA, CORPUS_FILE, cache_dir))
    if "sets" in missing:
        places = replace(places, evaluation=unpack(fetch(DATA, EVALUATION_FILE, cache_dir)))
    return places


def fetch_text_models(cache_dir: Path, runs: Iterable[RunConfig]) -> None:
    """Fetch the models that rewrite these runs' texts. Raises UserError."""
    models = {run.rewriting.model or OWN_ENCODER for run in runs if run.rewriting is not None}
    for name in sorted(models - {OWN_ENCODER}):
        model_folders(name, cache_dir, offline=False)


def model_folders(name: str, cache_dir: Path, *, offline: bool = True) -> list[Path]:
    """The folders of a model that rewrites text. Raises UserError if a file is not there and not
    fetched."""
    return [
        fetch_folder(repository, cache_dir, offline=offline) for repository in TEXT_MODELS[name]
    ]


def fetch_folder(repository: Repository, cache_dir: Path, *, offline: bool = False) -> Path:
    """The folder with all files of a repository. Raises UserError."""
    files = [fetch(repository, name, cache_dir, offline=offline) for name in repository.files]
    return files[-1].parent


def encoder_folder(place: Path, cache_dir: Path, *, offline: bool = False) -> Path:
    """The folder of an encoder; of hf:NAME@REVISION, what transformers and sentence-transformers
    read of it, with weights as tensors alone. Raises UserError."""
    if not str(place).startswith("hf:"):
        return Path(os.path.abspath(place))  # children work elsewhere
    named = ENCODER_PLACE.fullmatch(str(place))
    if named is None:
        raise UserError(
            f"{place} names no encoder; write hf:NAME@REVISION with the commit's 40 digits."
        )
    name, revision = named.groups()

    def listed() -> list[str]:
        if offline:
            raise UserError(f"{place} is not in {cache_dir}; {FETCH_FIRST}.")
        from huggingface_hub import HfApi

        check_hub()
        with refusing(
            f"{place} cannot be fetched", f"check its name and the network, or {WITHOUT}"
        ):
            api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, token=False)
            return sorted(filter(TENSORS.fullmatch, api.list_repo_files(name, revision=revision)))

    files = cached(cache_dir / "encoders", ["hub", name, revision], listed)
    # a file in no folder comes last
    files.sort(key=lambda file: "/" not in file)
    return fetch_folder(
        Repository(name, revision, dict.fromkeys(files)), cache_dir, offline=offline
    )


def fetch(repository: Repository, name: str, cache_dir: Path, *, offline: bool = False) -> Path:
    """One file's path below `cache_dir`/hub. A missing or damaged file is downloaded, unless
    `offline`.

    Raises UserError if the file cannot be fetched or has another digest. Such a file is not kept.
    """
    from huggingface_hub import hf_hub_download, logging

    client = partial(
        hf_hub_download,
        repository.name,
        name,
        repo_type=repository.kind,
        revision=repository.revision,
        cache_dir=Path(cache_dir) / "hub",
        endpoint=os.environ.get("HF_ENDPOINT") or None,
        token=False,
    )
    damaged = False

    def other_digest(path: Path) -> str | None:
        """The file's digest if it is not the one that is pinned or, for a large file, named by the
        client."""
        wanted = repository.files[name] or path.resolve().name
        digest = file_digest(path)
        if len(wanted) == SHA1:  # as git counts it
            content = b"blob %d\0" % path.stat().st_size + path.read_bytes()
            digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        return None if digest == wanted or len(wanted) not in (SHA1, SHA256) else digest

    with contextlib.suppress(FileNotFoundError):
        path = Path(client(local_files_only=True))
        if other_digest(path) is None:
            return path
        damaged = True

    where = f"{name} of {repository.name}"
    if offline:
        raise UserError(f"{cache_dir} does not hold {where}; {FETCH_FIRST}.")
    check_hub()
    logging.set_verbosity_error()  # it warns at each of its attempts
    say(f"Fetching {where}.")
    with refusing(f"{where} cannot be fetched", f"check the network and HF_ENDPOINT, {WITHOUT}"):
        path = Path(client(force_download=damaged))
    other = other_digest(path)
    if other is not None:
        path.resolve().unlink()
        raise UserError(
            f"{where} has the digest {other[:12]}…, which is not its own; try again, {WITHOUT}."
        )
    return path


def is_unpacked(archive: Path, folder: Path) -> bool:
    """Whether every file of an archive lies in the folder with its content."""
    with contextlib.suppress(tarfile.TarError, EOFError), tarfile.open(archive) as packed:
        for member in packed:
            content = packed.extractfile(member)
            file = folder / member.name
            if content and not (file.is_file() and file.read_bytes() == content.read()):
                return False
        return True
    return False


def unpack(archive: Path) -> Path:
    """The folder of SentEval data, unpacked beside its archive; nothing in it leads outside."""
    target = archive.with_suffix("")
    problem = f"{archive} cannot be unpacked"
    hint = f"delete it and fetch it again, {WITHOUT}"
    kinds = (tarfile.TarError, EOFError, shutil.ReadError)
    with locks.waiting(target.with_name(f".{target.name}.lock"), f"unpacking {archive}"):
        sweep(target)
        unpacked = is_unpacked(archive, target)
        if target.exists() and not unpacked:
            say(f"{target} is not as it was unpacked, so it is unpacked anew.")
        if not unpacked:
            with whole(target, folder=True) as part, refusing(problem, hint, *kinds):
                shutil.unpack_archive(archive, part, filter="data")
                senteval_root(part)
    return senteval_root(target)
