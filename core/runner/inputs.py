"""What a command works on: its scale and studies, and training text, evaluation sets and encoders
that lie on this machine or are fetched."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from core.config.methods import PROFILES
from core.config.scale import SCALES, Scale, Sources
from core.data import encoders, hub
from core.data import sources as finding
from core.data.own_data import DEV, data_file, read_pairs, with_own_pairs
from core.errors import UserError, counted, say
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.store.store import Store
from core.study.setup import Setup
from core.study.study import ENCODERS, Study

# modes that train nothing, and so fetch nothing
LOOKING = ("plan", "list", "regenerate-figures")


def scale_of(options: Options) -> Scale:
    """The scale that the user named, or that fits the machine; the first line of output says
    which."""
    gpus = options.gpus
    if not gpus and options.device != "cpu":
        gpus = len(devices.visible_gpus())
    if options.scale:
        print(f"Scale {options.scale}.")
        return SCALES[options.scale]
    name = "paper" if gpus else "demo"
    why = f"for {counted(gpus, 'GPU')}" if gpus else "without a GPU"
    print(f"Scale {name}, the default {why}; choose another with --scale.")
    return SCALES[name]


def setup_of(options: Options, scale: Scale, data: Sources) -> Setup:
    """The scale, profile and seeds of a command on these data."""
    words: list[str] = []  # that name the data, as they are typed
    if options.data_dir:
        words += ["--data-dir", str(options.data_dir)]
    if options.text:
        words += ["--text", options.text]
    for name, folder in options.encoders:
        words += ["--encoder", f"{name}={folder}"]
    for name, place in options.pairs:
        words += ["--pairs", f"{name}={place}"]
    return Setup(
        profile=options.profile or PROFILES[0],
        scale=scale,
        sources=data,
        seeds=options.seeds or scale.seeds,
        data_options=shlex.join(words),
    )


def sources(options: Options, scale: Scale, studies: Sequence[Study], store: Store) -> Sources:
    """Training text, evaluation sets and encoders of the scale: shipped, local, recorded with
    stored runs, or fetched."""
    # A made-up language, which the project ships
    if scale.generated:
        data = (options.text, options.pairs, options.data_dir)
        if any(data) or options.encoders:
            raise UserError(
                f"Scale {scale.name} has its own text and encoder, a made-up language; leave out "
                "--data-dir, --encoder, --text and --pairs, or take --scale mini instead."
            )
        return finding.demo_sources()

    # What is drawn needs no data
    own = options.text is not None or bool(options.pairs)
    encoder = options.encoder or encoders.SHIPPED_ENCODERS.get(scale.name)
    if options.mode == "regenerate-figures" and not own and not (options.data_dir and encoder):
        recorded = finding.recorded_sources(scale, store)
        if recorded is None:
            raise UserError(
                f"No run of scale {scale.name} is stored here; train some, or give --data-dir and "
                "--encoder."
            )
        return recorded

    # What lies on this machine, and what the hub has
    places = _local_places(options, encoder)
    names: set[str] = set()  # of encoders besides bert-base
    if scale.name == "paper" and not options.encoder:  # your own encoder has no relatives there
        for study in studies:
            names |= {cell.encoder for cell in study.cells if not cell.copied}
    others = sorted(names - {"bert-base"})
    cache = cache_folder()
    if options.mode not in LOOKING:
        return _announced(finding.local_sources(hub.fetch_parts(places, cache, others), cache))
    not_fetched = finding.NOT_FETCHED
    if others or hub.missing_parts(places):  # else digests that no run has
        recorded = finding.recorded_sources(scale, store)
        if recorded:
            not_fetched = recorded
        not_fetched = finding.unfetched_sources(others, not_fetched)
    return _announced(finding.local_sources(places, cache, not_fetched))


def _local_places(options: Options, encoder: Path | None) -> Sources:
    """Where text, pairs, sets and encoders lie on this machine; says what of an encoder is
    unused."""
    cache = cache_folder()
    looking = options.mode in LOOKING
    text = None
    if options.text is not None:
        text = data_file(options.text, "text", cache, fetch=not looking)
    pairs = []
    for name, place in options.pairs:
        pairs.append((name, data_file(place, "pairs", cache, fetch=not looking)))
    folders = dict(options.encoders)
    if encoder is not None:
        folders[ENCODERS[0]] = encoder
    places = finding.local_places(options.data_dir, folders, cache, text, pairs)
    for source in places.encoders:
        if source.folder is not None:
            unused = ", ".join(encoders.unused(source))
            if unused:
                say(
                    f"Runs start from the encoder in {source.folder} alone, without {unused[:200]}."
                )
    return places


def on_data(
    options: Options, scale: Scale, studies: list[Study], found: Sources, results: Path
) -> tuple[Scale, list[Study]]:
    """Scale and studies. Text, pairs and encoders of one's own are in the names of studies; the
    encoder that stands for the scale's own, without text or pairs, where it is not that of one's
    first run in `results`."""
    given = dict(options.encoders)
    if found.own_text or found.pairs:
        scale = with_own_pairs(scale, [name for name, _ in found.pairs])
        own = finding.own_data(found, given)
        return scale, [study.on(own, own=True) for study in studies]
    if found.encoder.folder is None or scale.generated or options.mode == "verify-published":
        return scale, studies
    first = finding.first_digests(scale, results)
    other = finding.other_data(found, first) if first else ""
    if other:
        has = f"{results} has runs of scale {scale.name} with another encoder or other data"
        if options.all or options.resolve:
            raise UserError(
                f"{has} than {other}; give another --results-dir, since a page is for one."
            )
        say(f"{has}, so these tables are named after {other}.")
    further = ""
    if not (options.all or options.resolve):
        further = finding.own_data(found, given.keys() - {ENCODERS[0]})
    names = ",".join(filter(None, (further, other)))
    if not names:
        return scale, studies
    return scale, [study.on(names, own=False) for study in studies]


def _announced(found: Sources) -> Sources:
    """The same; says how much of your own text and how many of your own pairs were read, and which
    text a data folder has under another than the usual names: it may be a licence."""
    corpus = found.corpus
    if found.own_text or (corpus is not None and corpus.name not in finding.CORPUS_NAMES):
        say(f"Training text {found.corpus_name}: {found.corpus_rows} sentences.")
    pairs = {name: read_pairs(path) for name, path in found.pairs}
    selected_on = {frozenset(pair[:2]) for pair in pairs.get(DEV, ())}
    for name, path in found.pairs:
        line = f"{len(pairs[name])} pairs of {path}"
        if name == DEV:
            say(f"Development set: {line}.")
            continue
        both = sum(frozenset(pair[:2]) in selected_on for pair in pairs[name])
        if both:
            line += f", {both} of them in the development set, too"
        say(f"Test set {name}: {line}.")
    return found
