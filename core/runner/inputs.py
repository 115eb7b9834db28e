"""What a command works on: its scale and studies, and training text, evaluation sets and encoders
that lie on this machine or are fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.data import encoders, hub
from core.data import sources as finding
from core.data.own_data import DEV, data_file, read_pairs, with_own_pairs
from core.runner import devices
from core.runner.cli import Options
from core.runner.devices import cache_folder
from core.spec.errors import UserError, counted, say
from core.spec.scale import SCALES, Scale
from core.spec.setup import Setup
from core.spec.study import Study
from core.store.store import Store

POSITIVE = 4  # alignment is of the pairs above it
LOOKING = ("plan", "list", "regenerate-figures")  # modes that train nothing, and so fetch nothing


def scale_of(options: Options) -> Scale:
    """The scale that the user named, or that fits the machine; the first line of output says
    which."""
    gpus = options.gpus or len(devices.visible_gpus() if options.device != "cpu" else ())
    name = options.scale or ("paper" if gpus else "demo")
    why = f"for {counted(gpus, 'GPU')}" if gpus else "without a GPU"
    more = "" if options.scale else f", the default {why}; choose another with --scale"
    print(f"Scale {name}{more}.")
    return SCALES[name]


def sources(
    options: Options, scale: Scale, studies: Sequence[Study], store: Store
) -> finding.Found:
    """Training text, evaluation sets and encoders of the scale: shipped, local, recorded with
    stored runs, or fetched."""
    cache = cache_folder()
    looking = options.mode in LOOKING
    own = options.text is not None or bool(options.pairs)
    if scale.generated:
        if own or options.data_dir or options.encoder or options.other_encoders:
            raise UserError(
                f"Scale {scale.name} has its own text and encoder, a made-up language; leave out "
                "--data-dir, "
                "--encoder, --text and --pairs, or take --scale mini instead."
            )
        return finding.demo_sources()
    encoder = options.encoder or encoders.SHIPPED_ENCODERS.get(scale.name)
    if options.mode == "regenerate-figures" and not own and not (options.data_dir and encoder):
        recorded = finding.recorded_sources(scale, store)  # what is drawn needs no data
        if recorded is None:
            none = f"No run of scale {scale.name} is stored here"
            raise UserError(f"{none}; train some, or give --data-dir and --encoder.")
        return recorded
    text = (
        None if options.text is None else data_file(options.text, "text", cache, fetch=not looking)
    )
    pairs = [
        (name, data_file(place, "pairs", cache, fetch=not looking)) for name, place in options.pairs
    ]
    places = finding.local_places(options.data_dir, encoder, options.other_encoders, text, pairs)
    for folder in filter(None, (options.encoder, *dict(options.other_encoders).values())):
        if rest := ", ".join(encoders.unused(folder)):
            say(f"Runs start from the encoder in {folder} alone, without {rest[:200]}.")
    used = {cell.encoder for study in studies for cell in study.cells if not cell.copied} - {
        "bert-base"
    }
    # Your own encoder has no relatives on the hub.
    others = sorted(used) if scale.name == "paper" and not options.encoder else []
    if not looking:
        return _announced(finding.local_sources(hub.fetch_parts(places, cache, others), cache))
    known = finding.NOT_FETCHED
    if others or hub.missing_parts(places):  # else digests that no run has
        recorded = finding.recorded_sources(scale, store)
        known = finding.unfetched_sources(others, recorded.sources if recorded else known)
    return _announced(finding.local_sources(places, cache, known))


def on_data(
    options: Options, scale: Scale, studies: list[Study], found: finding.Found, results: Path
) -> tuple[Scale, list[Study]]:
    """Scale and studies; on text or pairs of one's own, or with another encoder than one's own
    first run in `results`, under other names."""
    if own := found.own_data():
        scale = with_own_pairs(scale, [name for name, _ in found.places.pairs])
        return scale, [study.on(own, own=True) for study in studies]
    local = found.places.encoder is not None and options.mode != "verify-published"
    first = finding.first_digests(scale, results) if local else {}
    other = finding.other_data(found.sources, first) if first else ""
    if not other:
        return scale, studies
    has = f"{results} has runs of scale {scale.name} with another encoder or other data"
    hint = "give another --results-dir, since a page is for one"
    if options.all or options.resolve:
        raise UserError(f"{has} than {other}; {hint}.")
    say(f"{has}, so these tables are named after {other}.")
    return scale, [study.on(other, own=False) for study in studies]


def varied(options: Options, study: Study, setup: Setup) -> Study:
    """The study as --set and --vary change it; prints which rows stay as they are. Raises
    UserError."""
    changes = tuple(options.settings), tuple(options.vary)
    made = setup.varied(study, *changes) if any(changes) else study
    for footnote in made.footnotes[len(study.footnotes) :]:
        print(footnote)
    setup.check(made)
    return made


def _announced(found: finding.Found) -> finding.Found:
    """The same; says how much of your own text and how many of your own pairs were read, and which
    text a data folder has under another than the usual names: it may be a licence."""
    corpus = found.places.corpus
    if found.places.own_text or (corpus is not None and corpus.name not in finding.CORPUS_NAMES):
        say(f"Training text {found.sources.corpus_name}: {found.sources.corpus_rows} sentences.")
    pairs = {name: read_pairs(path) for name, path in found.places.pairs}
    if DEV in pairs and not any(score > POSITIVE for *_, score in pairs[DEV]):
        say(
            f"No pair of the development set has a score above {POSITIVE:g} of 5, so runs have no "
            "alignment."
        )
    chosen_by = {frozenset(pair[:2]) for pair in pairs.get(DEV, ())}
    for name, path in found.places.pairs:
        both = sum(frozenset(pair[:2]) in chosen_by for pair in pairs[name])
        also = f", {both} of them in the development set, too" if both and name != DEV else ""
        kind = "Development set" if name == DEV else f"Test set {name}"
        say(f"{kind}: {len(pairs[name])} pairs of {path}{also}.")
    return found
