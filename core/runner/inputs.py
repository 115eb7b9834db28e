"""What a command on studies works on: its scale, sources and seeds, and the studies as these data
name them; and what is said of the data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from core.config.methods import PROFILES
from core.config.scale import PAPER, SCALES, Scale, Sources
from core.config.section import frozen
from core.data import encoders
from core.data.own_data import DEV, read_pairs, with_own_pairs
from core.data.sources import (
    CORPUS_NAMES,
    ENCODER,
    options_for,
    other_data,
    own_data,
    recorded_sources,
    sources_of,
)
from core.errors import UserError
from core.formatting import counted, say
from core.runner import devices
from core.runner.cli import words
from core.runner.devices import cache_folder
from core.runner.estimate import Expectation, expectation
from core.runner.options import program
from core.runner.orders import (
    AnyStudyOrder,
    Changes,
    Machine,
    PlannedMachine,
    Scope,
    SettleOrder,
    TableOrder,
    TrainOrder,
    Workers,
)
from core.store.store import Store
from core.study.resolution import ResolvedStudy, check_distinct, resolve
from core.study.setup import Setup
from core.study.study import Study
from core.study.variants import varied


@frozen
class Context:
    """What one command on studies works on; `studies` have the names that its data give them."""

    store: Store
    setup: Setup
    studies: Sequence[Study]
    machine: Machine

    def changed(self, changes: Changes) -> list[Study]:
        """The studies with these changes; says which rows stay as they are."""
        if not (changes.settings or changes.vary):
            return [*self.studies]
        studies = []
        for study in self.studies:
            studies.append(varied(study, self.setup, changes.settings, changes.vary))
            for footnote in studies[-1].footnotes[len(study.footnotes) :]:
                print(footnote)
        return studies

    def resolved_studies(self) -> list[ResolvedStudy]:
        """The studies, resolved. Raises UserError for two cells of one run."""
        resolved_studies = [resolve(study, self.setup) for study in self.studies]
        for resolved in resolved_studies:
            check_distinct(resolved)
        return resolved_studies

    def expected(self) -> Expectation:
        """What runs are expected to take, as runs of this machine that are stored by now took."""
        return expectation(self.machine, self.setup.scale, self.setup.sources, self.store)


def setup_and_studies(
    order: AnyStudyOrder, studies: Sequence[Study], store: Store
) -> tuple[Setup, Sequence[Study]]:
    """The setup of an order, and these studies as the order's data name them. Says which data was
    read. Raises UserError."""
    scale = scale_of(order.scope.scale, order.machine)
    scale, sources, studies = data_of(order, scale, studies, store)
    return setup_of(order, scale, sources), studies


def data_of(
    order: AnyStudyOrder, scale: Scale, studies: Sequence[Study], store: Store
) -> tuple[Scale, Sources, Sequence[Study]]:
    """The sources of an order; scale and studies as these data make and name them. Text, pairs and
    encoders of one's own are in the names of studies; the encoder that stands for the scale's own,
    without text or pairs, where stored runs have another. Says what was read. Raises UserError,
    also if one page is drawn of both."""
    need = "plan" if isinstance(order, SettleOrder) and order.plan else order.need
    others = [] if order.data.own_encoder or scale.name != PAPER.name else others_of(studies)
    sources = sources_of(order.data, scale, need, others, store, cache_folder())
    announce(sources, scale)
    given = dict(order.data.encoders)
    if sources.own_text or sources.pairs:
        scale = with_own_pairs(scale, [name for name, _ in sources.pairs])
        own = own_data(sources, given)
        on_own = [study.on(own, own=True) for study in studies]
        return scale, replace(sources, in_names=True), on_own
    if sources.encoder.folder is None or scale.generated:
        return scale, sources, studies
    recorded = recorded_sources(scale, Store(store.root, None))
    other = other_data(sources, recorded) if recorded else ""
    one_page = order.scope.all or isinstance(order, SettleOrder)
    if other:
        has = f"{store.root} has runs of scale {scale.name} with another encoder or other data"
        if one_page:
            raise UserError(
                f"{has} than {other}; give another --results-dir, since a page is for one."
            )
        say(f"{has}, so these tables are named after {other}.")
    further = "" if one_page else own_data(sources, given.keys() - {ENCODER})
    names = ",".join(filter(None, (further, other)))
    if names:
        studies = [study.on(names, own=False) for study in studies]
    return scale, replace(sources, in_names=bool(other)), studies


def setup_of(order: AnyStudyOrder, scale: Scale, sources: Sources) -> Setup:
    """The setup of an order's runs, with the options that train these."""
    changes = order.changes if isinstance(order, TableOrder) else Changes()
    train = TrainOrder(
        scope=Scope(results_dir=order.scope.results_dir),
        data=options_for(scale, sources, order.data),
        changes=Changes(seeds=changes.seeds),
        machine=order.machine if isinstance(order, TrainOrder | SettleOrder) else Workers(),
    )
    return Setup(
        profile=order.scope.profile or PROFILES[0],
        scale=scale,
        sources=sources,
        seeds=changes.seeds or scale.seeds,
        program=program(),
        options=shlex.join(words(train)),
        changes=shlex.join(words(TrainOrder(changes=replace(changes, seeds=None)))),
    )


def scale_of(name: str | None, machine: Machine) -> Scale:
    """The scale that the user named, or that fits the machine; the first line of output says
    which."""
    if name:
        print(f"Scale {name}.")
        return SCALES[name]
    gpus = machine.gpus if isinstance(machine, PlannedMachine) else None
    if not gpus and machine.device != "cpu":
        gpus = len(devices.visible_gpus())
    name = "paper" if gpus else "demo"
    why = f"for {counted(gpus, 'GPU')}" if gpus else "without a GPU"
    print(f"Scale {name}, the default {why}; choose another with --scale.")
    return SCALES[name]


def others_of(studies: Sequence[Study]) -> list[str]:
    """The papers' other encoders that cells of these studies start from."""
    names: set[str] = set()
    for study in studies:
        names |= {cell.encoder for cell in study.cells if not cell.copied}
    return sorted(names - {ENCODER})


def announce(sources: Sources, scale: Scale) -> None:
    """Say what of an encoder is unused, how much of your own text and how many of your own pairs
    were read, and which text a data folder has under another than the usual names: it may be a
    licence."""
    if scale.generated:
        return
    for source in sources.encoders:
        if source.folder is not None:
            unused = ", ".join(encoders.unused(source))
            if unused:
                say(
                    f"Runs start from the encoder in {source.folder} alone, without {unused[:200]}."
                )
    corpus = sources.corpus
    if sources.own_text or (corpus is not None and corpus.name not in CORPUS_NAMES):
        say(f"Training text {sources.corpus_name}: {sources.corpus_rows} sentences.")
    pairs = {name: read_pairs(path) for name, path in sources.pairs}
    selected_on = {frozenset(pair[:2]) for pair in pairs.get(DEV, ())}
    for name, path in sources.pairs:
        line = f"{len(pairs[name])} pairs of {path}"
        if name == DEV:
            say(f"Development set: {line}.")
            continue
        both = sum(frozenset(pair[:2]) in selected_on for pair in pairs[name])
        if both:
            line += f", {both} of them in the development set, too"
        say(f"Test set {name}: {line}.")
