"""What a scale is made of on this machine, by content: training text, evaluation sets, encoder,
which are shipped, lie here, are recorded with stored runs, or are fetched. No torch."""

import contextlib
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from core.config.run import PAPER_HIDDEN
from core.config.scale import SCALES, EncoderSource, Scale, Sources
from core.config.section import frozen
from core.data import hub
from core.data.encoders import (
    DEMO_ENCODER,
    DEMO_ENCODER_DIGEST,
    PLAIN,
    SHIPPED,
    SHIPPED_ENCODERS,
    encoder_in,
)
from core.data.own_data import data_file, own_digest, own_sets, scores_scale_sets
from core.data.sts import load_split, load_sts, senteval_root, transfer_files
from core.data.text import READERS_VERSION, measure
from core.data.transfer import evaluation_digest
from core.errors import UserError
from core.formatting import say
from core.store.cache import cached
from core.store.records import believed
from core.store.store import Store

CORPUS_NAMES = ("wiki_sentences.txt", "wiki1m_for_simcse.txt")
# A test compares these digests with the shipped files: of the text, by `core.data.sts.sets_digest`
# and by `core.data.transfer.probes_digest`.
DEMO_CORPUS_DIGEST = "a18f540387b8a51b17cb8a38d4c5e5b3648abe5471377e980e1e83c799f09c2a"
DEMO_CORPUS_ROWS = 16_000
DEMO_EVALUATION_DIGEST = "d51df8d583f32701fd8c9e5e17b71cf39c7b6cbbc672acd95072f744d635711e"
DEMO_TRANSFER_DIGEST = "aed40945ec901d8f059020c3c1f273d77c16409fbf3c516fe4d64389b42aab9d"

ENCODER = "bert-base"  # whose place a scale's own encoder takes
NO_DIGEST = "not fetched"  # a digest that nothing has
# of the papers' other encoders
HIDDEN = {"bert-large": 1024, "roberta-base": 768, "roberta-large": 1024}
NOT_FETCHED = Sources(
    corpus_digest=NO_DIGEST,
    corpus_rows=1_000_000,
    corpus_name="",
    encoders=(EncoderSource(ENCODER, NO_DIGEST, PAPER_HIDDEN, "", masked_words=True), PLAIN),
    evaluation_digest=NO_DIGEST,
    evaluation_name="",
    transfer_digest=NO_DIGEST,
)


PLACES = ("corpus", "evaluation", "pairs", "own_text")
# What a result records under the name that Sources has, so that tables can be drawn without the
# data.
RECORDED = ("corpus_rows", "corpus_rows_csv_quoted", "evaluation_digest", "transfer_digest")


def provenance(sources: Sources) -> dict[str, object]:
    """What a result records so that its table can be drawn where the data is not at hand."""
    return {name: getattr(sources, name) for name in RECORDED} | {
        "corpus": sources.corpus_name,
        "evaluation": sources.evaluation_name,
        "encoders": [encoder[:4] for encoder in sources.encoders],
        "encoder_hidden": sources.encoder.hidden,
        "encoder_masked_words": sources.encoder.masked_words,
        "own_data": sources.in_names,
    }


def own_data(sources: Sources, encoders: Collection[str]) -> str:
    """Your own text and pairs, and those of the sources that stand for these `encoders` and are not
    shipped, by name and content, for the names of tables; "" without any."""
    parts = []
    if sources.own_text:
        parts.append(_labelled("text", sources.corpus_name, sources.corpus_digest))
    if sources.pairs:
        names = "+".join(_word(name) for name, _ in sources.pairs)
        parts.append(f"pairs={names}~{sources.evaluation_digest[:8]}")
    for encoder in sources.encoders:
        if encoder.stands_for in encoders and encoder.digest not in SHIPPED:
            part = encoder.stands_for.replace(sources.encoder.stands_for, "encoder")
            parts.append(_labelled(part, encoder.name, encoder.digest))
    return ",".join(parts)


@frozen
class DataOptions:
    """Data and encoders in place of the scale's own, as the user named them."""

    data_dir: Path | None = None
    encoders: tuple[tuple[str, Path], ...] = ()  # what each stands for, and its folder
    text: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()  # name and place of each set

    @property
    def own_encoder(self) -> bool:
        """Whether an encoder stands for the scale's own."""
        return ENCODER in dict(self.encoders)


# To draw needs no data, to plan fetches none, and to train fetches what is missing.
Need = Literal["draw", "plan", "train"]


def sources_of(
    options: DataOptions, scale: Scale, need: Need, others: Sequence[str], store: Store, cache: Path
) -> Sources:
    """The sources of a command on runs that start from the scale's own encoder or from `others` of
    the papers'. Raises UserError."""
    if scale.generated:
        if options != DataOptions():
            raise UserError(
                f"Scale {scale.name} has its own text and encoder, a made-up language; leave out "
                "--data-dir, --encoder, --text and --pairs, or take --scale mini instead."
            )
        return demo_sources()
    folders = dict(options.encoders)
    data_dir = options.data_dir and Path(
        os.path.abspath(options.data_dir)
    )  # children work elsewhere
    if scale.name in SHIPPED_ENCODERS:
        folders.setdefault(ENCODER, SHIPPED_ENCODERS[scale.name])

    # What is drawn needs no data
    own = options.text is not None or bool(options.pairs)
    if need == "draw" and not own and not (data_dir and ENCODER in folders):
        recorded = recorded_sources(scale, store)
        if recorded is None:
            raise UserError(
                f"No run of scale {scale.name} is stored here; train some, or give --data-dir and "
                "--encoder."
            )
        return recorded

    # What lies on this machine, and what the hub has
    fetch = need == "train"
    for name, place in folders.items():
        folders[name] = hub.encoder_folder(place, cache, offline=not fetch)
    text = None
    if options.text is not None:
        text = data_file(options.text, "text", cache, fetch=fetch)
    pairs = [(name, data_file(file, "pairs", cache, fetch=fetch)) for name, file in options.pairs]
    places = local_places(data_dir, folders, cache, text, pairs)
    if fetch:
        return local_sources(hub.fetch_parts(places, cache, others), cache)
    not_fetched = NOT_FETCHED
    if others or hub.missing_parts(places):  # else digests that no run has
        recorded = recorded_sources(scale, store)
        if recorded is None or recorded.corpus_name != hub.CORPUS_FILE:  # what training would read
            recorded = NOT_FETCHED
        not_fetched = unfetched_sources(others, recorded)
    return local_sources(places, cache, not_fetched)


def options_for(scale: Scale, sources: Sources, options: DataOptions) -> DataOptions:
    """The options that lead to these sources: with the folders DATA and ENCODER for what is neither
    here nor on the hub, since it was read where the runs were trained."""
    encoder = sources.encoder
    if scale.generated:
        return DataOptions()
    read = options.data_dir is None and sources.corpus is None
    if read and sources.corpus_name not in ("", hub.CORPUS_FILE):
        options = replace(options, data_dir=Path("DATA"))
    fetched = hub.REPOSITORIES[ENCODER][0].name.rpartition("/")[2]
    is_here = encoder.folder is not None or encoder.digest in SHIPPED
    if not is_here and encoder.name not in ("", fetched):
        own = (ENCODER, Path("ENCODER"))
        options = replace(options, encoders=(*options.encoders, own))
    return options


def demo_sources() -> Sources:
    """The sources of the made-up language: the project ships text, pairs and encoder."""
    return replace(
        NOT_FETCHED,
        corpus_digest=DEMO_CORPUS_DIGEST,
        corpus_rows=DEMO_CORPUS_ROWS,
        corpus_name="generated sentences",
        evaluation_digest=DEMO_EVALUATION_DIGEST,
        evaluation_name="generated pairs",
        transfer_digest=DEMO_TRANSFER_DIGEST,
        encoders=(
            EncoderSource(
                ENCODER, DEMO_ENCODER_DIGEST, *SHIPPED[DEMO_ENCODER_DIGEST], folder=DEMO_ENCODER
            ),
        ),
    )


def local_places(
    data_dir: Path | None,
    encoders: Mapping[str, Path],
    cache: Path,
    text: Path | None = None,
    pairs: Sequence[tuple[str, Path]] = (),
) -> Sources:
    """Sources whose data is not read yet, at the places that the user named; `encoders` are folders
    by what they stand for. Raises UserError for an encoder that no run could train from, and for a
    folder without its data."""
    places = replace(
        NOT_FETCHED,
        corpus=text or (data_dir and corpus_file(data_dir)),
        evaluation=data_dir and senteval_root(data_dir),
        pairs=tuple(pairs),
        own_text=text is not None,
    )
    return places.with_encoders(
        *(encoder_in(name, folder, cache) for name, folder in encoders.items())
    )


def corpus_file(data_dir: Path) -> Path:
    """The training text in a data folder: the one with a usual name, or its only text file. Says
    which others are not read. Raises UserError."""
    if not data_dir.is_dir():
        raise UserError(f"--data-dir {data_dir} is no folder; correct its name.")
    texts = [path for path in sorted(data_dir.glob("*.txt")) if not path.name.startswith(".")]
    usual = [path for path in texts if path.name in CORPUS_NAMES]
    chosen = usual or texts
    if len(chosen) != 1:
        raise UserError(
            f"{data_dir} has {len(chosen)} text files, but training needs one; put the sentences, "
            f"one a line, into {CORPUS_NAMES[0]} there, or use --scale demo."
        )
    others = [path.name for path in texts if path not in chosen]
    if others:
        say(f"Training reads {chosen[0]}, and not {', '.join(others)} beside it.")
    return chosen[0]


def local_sources(places: Sources, cache_dir: Path, known: Sources = NOT_FETCHED) -> Sources:
    """What lies at these places, by content, and else what is known. Raises UserError for unusable
    text and sets."""
    changes: dict[str, Any] = {name: getattr(places, name) for name in PLACES}
    if places.evaluation is not None:
        digest = evaluation_digest(places.evaluation)
        # refused before anything is trained; to read all pairs takes 0.5 s
        cached(
            cache_dir / "sets", [READERS_VERSION, digest], partial(_read_sets, places.evaluation)
        )
        changes["evaluation_digest"] = digest
        changes["evaluation_name"] = "SentEval"
        changes["transfer_digest"] = None
        if all((places.evaluation / file).is_file() for file in transfer_files()):
            changes["transfer_digest"] = evaluation_digest(places.evaluation, transfer=True)
    if places.pairs:
        rest = None
        if scores_scale_sets([name for name, _ in places.pairs]):
            rest = changes.get("evaluation_digest", known.evaluation_digest)
        changes["evaluation_digest"] = own_digest(own_sets(places.pairs), rest)
        changes["evaluation_name"] = "own pairs"
        changes["transfer_digest"] = None
    if places.corpus is not None:
        digest, rows, quoted, columns = measure(places.corpus, cache_dir)
        changes |= {"corpus_digest": digest, "corpus_rows": rows, "corpus_rows_csv_quoted": quoted}
        changes["corpus_name"] = places.corpus.name
        changes["corpus_columns"] = columns
    here = [encoder for encoder in places.encoders if encoder.folder is not None]
    return replace(known, **changes).with_encoders(*here)


def _read_sets(evaluation: Path) -> None:
    """Read every pair. Raises UserError for what no run could be trained with."""
    load_sts(evaluation)
    load_split(evaluation, "STS-B", "train")


def unfetched_sources(others: Iterable[str], sources: Sources = NOT_FETCHED) -> Sources:
    """`sources` with these other encoders before they are fetched: digests that no run has, so that
    every run is missing."""
    absent = [name for name in others if sources.encoder_for(name) is None]
    new = [EncoderSource(name, f"{NO_DIGEST}: {name}", HIDDEN[name], name) for name in absent]
    return sources.with_encoders(*new)


def recorded_sources(scale: Scale, store: Store) -> Sources | None:
    """The sources of a scale's stored runs, or None. Tables of these sources have plain names.
    Raises UserError."""
    return recorded(store, (scale.name,)).get(scale.name)


def recorded(store: Store, scales: Collection[str] = tuple(SCALES)) -> dict[str, Sources]:
    """The sources of a run of each of these scales, your own runs before published runs. Runs on
    data after which tables are named do not count. The made-up language has its sources without any
    run. Raises UserError."""
    by_scale = {name: demo_sources() for name in scales if SCALES[name].generated}
    for run in dict.fromkeys((*store.own_runs(), *store.runs())):
        left = [name for name in scales if name not in by_scale]
        if not left or store.scale_of_pack(run) not in (None, *left):
            continue  # hundreds of runs that need not be read
        # a damaged or foreign file says nothing about sources
        with contextlib.suppress(UserError), believed(run):
            stored = store.load(run)
            config = stored.config
            scale = config.scale
            about: Mapping[str, Any] = stored.provenance
            encoder, *others = (EncoderSource(*encoder) for encoder in about["encoders"])
            encoder = encoder._replace(masked_words=about["encoder_masked_words"])
            sources = Sources(
                corpus_digest=config.data.digest,
                corpus_columns=config.data.columns,
                corpus_name=about["corpus"],
                evaluation_name=about["evaluation"],
                encoders=NOT_FETCHED.with_encoders(encoder, *others, PLAIN).encoders,
                **{name: about[name] for name in RECORDED},
            )
            plain = encoder.digest == PLAIN.digest  # it lies beside the scale's own
            if scale in left and not plain and not about.get("own_data"):
                by_scale[scale] = sources
    return by_scale


def other_data(sources: Sources, recorded: Sources) -> str:
    """The encoder, text and sets of which `recorded` has others, by name and content; or ""."""
    encoder = sources.encoder
    parts = (
        ("encoder", encoder.name, encoder.digest, recorded.encoder.digest),
        ("text", sources.corpus_name, sources.corpus_digest, recorded.corpus_digest),
        ("sets", sources.evaluation_name, sources.evaluation_digest, recorded.evaluation_digest),
    )
    return ",".join(_labelled(*part) for *part, other in parts if part[-1] != other)


def _labelled(part: str, name: str, digest: str) -> str:
    return f"{part}={_word(name)}~{digest[:8]}"


def _word(name: str) -> str:
    """A name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:30]
