"""What the page says, as plain data: editions (a scale under a profile), studies, and a card for each claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.report.cells import RunResult, StudyResult
from core.report.comparability import by_configuration, reasons
from core.report.contrasts import Readings, weights
from core.report.judgement import Verdict
from core.report.naming import text_here, text_named
from core.report.notes import one_order
from core.report.page.words import POINTS, unit_of
from core.report.signflip import sentences
from core.report.statistics import HOLDS_95
from core.report.verdicts import settled_once, verdicts
from core.spec.claim import Claim
from core.spec.conditions import Edition
from core.spec.scale import SCALES
from core.spec.study import Study

DEFAULT_PROFILE = "paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One study of an edition: its result, and its figure as an <svg> element (None if it was not drawn just now); `kept` is whether a
    figure from an earlier drawing lies in its place."""

    result: StudyResult
    picture: str | None
    kept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a claim stands in one edition. `values` are the deciding contrast's by seed, above the claim's threshold; `band` half of what
    seeds alone give its mean; `unit` what the contrast is in: points of a score stand on the common axis. `same_as` is the edition that
    rests on the same runs, "" without one."""

    verdict: Verdict
    result: StudyResult
    values: tuple[float, ...]
    band: float | None
    unit: str
    same_as: str = ""

    @property
    def in_points(self) -> bool:
        """Whether the deciding contrast is in points of a score."""
        return self.unit == POINTS

    @property
    def begun(self) -> bool:
        """Whether its study has a run here."""
        return any(run.rows is not None for cell in self.result.cells for run in cell.runs)

    @property
    def evidence(self) -> frozenset[str]:
        """The runs on which its verdict rests, as far as there is one: those of the deciding cells at the look that was asked."""
        named = weights(self.verdict.contrast, self.result) if self.values and self.verdict.outcome != "not comparable" else {}
        cells = [cell for cell in self.result.cells if cell.cell.labels in named]
        return frozenset(run.run_id for cell in cells for run in cell.runs if run.rows is not None and run.seed < self.verdict.n)

    @property
    def edition(self) -> str:
        """Scale and profile."""
        return f"{self.result.scale.name} · {self.result.profile}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A claim with its standings by edition."""

    claim: Claim
    study: Study
    standings: Mapping[str, Standing]
    scales: frozenset[str] = frozenset()  # at which it is asked: elsewhere it speaks of test sets that there are not

    @property
    def anchor(self) -> str:
        """Its permanent link on the page."""
        return slug(self.claim.key)

    @property
    def printed(self) -> str:
        """What the paper's own numbers say: holds, fails, not printed."""
        found = next((one.verdict.printed for one in self.standings.values()), None)
        return {True: "holds", False: "fails", None: "not printed"}[found] if self.standings else self.claim.printed

    @property
    def on_paper_runs(self) -> str:
        """The outcome on the single runs that the paper shows; "not run" where it shows none."""
        return next((one.verdict.paper_runs for one in self.standings.values()), "not run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the page shows of a scale under a profile: the sections of its begun studies, the others as their configuration has them,
    and the counts of all claims by outcome. `out_of_reach` of those not run cannot be, at this scale and with these data; `shared` says how
    many rest on the very runs of another edition, by its name."""

    scale: str
    profile: str
    sections: Sequence[Section] = ()
    waiting: Sequence[StudyResult] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    out_of_reach: int = 0
    shared: Mapping[str, int] = field(default_factory=dict)
    noise: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As the page's columns are headed."""
        return f"{self.scale} · {self.profile}"

    @property
    def begun(self) -> bool:
        """Whether anything of it has been run."""
        return bool(self.sections)

    @property
    def results(self) -> list[StudyResult]:
        """Its studies, begun or not."""
        return [*(one.result for one in self.sections), *self.waiting]

    @property
    def runs(self) -> dict[str, RunResult]:
        """Every distinct run behind it, by id."""
        return {run.run_id: run for one in self.sections for run in one.result.runs if run.rows is not None}

    @property
    def hours(self) -> float:
        """What these runs took, one after the other."""
        return sum(seconds(run) for run in self.runs.values()) / 3600

    @property
    def one_order(self) -> bool:
        """Whether its seeds share the order of the text and dropout."""
        return any(one_order(one.result) for one in self.sections)

    @property
    def sources(self) -> str:
        """Encoder and text in a few words."""
        if not self.sections:
            return {"mini": "English, a compact encoder", "paper": "bert-base, one million sentences"}.get(self.scale, "made-up language")
        found = self.sections[0].result.sources
        return f"{found.encoder_name}, {text_named(found.corpus_name)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything that the page shows. `studies` are all there are, begun or not, as the paper has them."""

    editions: Sequence[Shown]
    studies: Sequence[Study]
    cards: Mapping[str, Sequence[Card]]  # by study

    @property
    def begun(self) -> tuple[Shown, ...]:
        """The editions of which anything has been run."""
        return tuple(edition for edition in self.editions if edition.begun)

    def sections_of(self, study: str) -> list[tuple[Shown, Section]]:
        """A study's sections, in the editions' order."""
        return [(edition, one) for edition in self.begun for one in edition.sections if one.result.study.name == study]

    def reasons(self, study: str) -> list[tuple[str, str]]:
        """Why a study, or claims of it, cannot be compared: the editions in which this is so, and what is wrong there."""
        found: dict[str, list[str]] = {}
        for edition in self.editions:
            for one in edition.results:
                for why in reasons(one) if one.study.name == study else ():
                    found.setdefault(why, []).append(edition.name)
        return [(", ".join(names), why) for why, names in found.items()]


def gathered_page(
    studies: Sequence[Study], sections: Mapping[tuple[str, str], Sequence[Section]], editions: Sequence[Edition] = (),
    judge: Callable[[Study, Edition], StudyResult] = by_configuration,
) -> Page:  # fmt: skip
    """The page over these sections, by scale and profile. Scales that nobody has begun stand under the default profile.

    `editions` are those of which the sources are known: a study that is not begun there stands as `judge` says. Every other claim
    without a run is not run.
    """
    known = {(edition.scale.name, edition.profile): edition for edition in editions}
    shown = []
    for scale in SCALES:
        profiles = [profile for name, profile in sections if name == scale and sections[name, profile]] or [DEFAULT_PROFILE]
        for profile in profiles:
            found = sections.get((scale, profile), ())
            rest = [study for study in studies if study.name not in {one.result.study.name for one in found}]
            edition = known.get((scale, profile))
            waiting = [] if edition is None else [settled_once(judge(study, edition)) for study in rest]
            noise = tuple(sentences([one.result for one in found]))
            shown.append(Shown(scale=scale, profile=profile, sections=found, waiting=waiting, noise=noise))
    standings = {
        (edition.name, result.study.name): (_standings if begun else _waiting)(result)
        for edition in shown
        for begun, results in ((True, [one.result for one in edition.sections]), (False, edition.waiting))
        for result in results
    }
    standings = with_shared_runs(standings)
    scales = {study.name: {name: {claim.key for claim in study.at(scale).claims} for name, scale in SCALES.items()} for study in studies}
    cards = {study.name: [_card(claim, study, shown, standings, scales[study.name]) for claim in study.claims] for study in studies}
    return Page(editions=[_counted(edition, studies, standings) for edition in shown], studies=studies, cards=cards)


def _counted(edition: Shown, studies: Sequence[Study], standings: Mapping[tuple[str, str], Mapping[str, Standing]]) -> Shown:
    """The edition with the counts of its claims."""
    counts: Counter[str] = Counter()
    shared: Counter[str] = Counter()
    out_of_reach = 0
    for study in studies:
        found = standings.get((edition.name, study.name))
        if found is None:
            counts["not run"] += len(study.at(SCALES[edition.scale]).claims)
        else:
            counts.update(one.verdict.outcome for one in found.values())
            out_of_reach += sum(one.verdict.outcome == "not run" and bool(one.verdict.reason) for one in found.values())
            shared.update(one.same_as for one in found.values() if one.same_as)
    return replace(edition, counts=dict(counts), out_of_reach=out_of_reach, shared=dict(shared))


def with_shared_runs(standings: Mapping[tuple[str, str], Mapping[str, Standing]]) -> dict[tuple[str, str], dict[str, Standing]]:
    """The standings, each of which rests on the very runs of an earlier edition with that edition's name."""
    first: dict[tuple[str, frozenset[str]], str] = {}
    found: dict[tuple[str, str], dict[str, Standing]] = {}
    for place, ones in standings.items():
        marked = found[place] = dict(ones)
        for key, one in ones.items():
            evidence = one.evidence
            earlier = first.setdefault((key, evidence), one.edition) if evidence else one.edition
            if earlier != one.edition:
                marked[key] = replace(one, same_as=earlier)
    return found


def _card(
    claim: Claim, study: Study, editions: Sequence[Shown], standings: Mapping[tuple[str, str], Mapping[str, Standing]],
    scales: Mapping[str, set[str]],
) -> Card:  # fmt: skip
    found = {}
    for edition in editions:
        one = standings.get((edition.name, study.name), {}).get(claim.key)
        if one is not None:
            found[edition.name] = one
    return Card(claim=claim, study=study, standings=found, scales=frozenset(name for name, keys in scales.items() if claim.key in keys))


def _waiting(result: StudyResult) -> dict[str, Standing]:
    """How each claim stands in a study without a run."""
    return {one.claim.key: Standing(verdict=one, result=result, values=(), band=None, unit="") for one in verdicts(result)}


def _standings(result: StudyResult) -> dict[str, Standing]:
    """How each claim of a study stands."""
    readings = Readings(result)
    prior = readings.prior(result.noise)
    found = {}
    for verdict in verdicts(result):
        n = readings.seeds(verdict.contrast)
        values = readings.samples(verdict.contrast, n) if n else None
        spread = prior(verdict.contrast)
        found[verdict.claim.key] = Standing(
            verdict=verdict,
            result=result,
            values=() if values is None else tuple(float(value) for value in values),
            band=None if spread is None or not verdict.n else HOLDS_95 * spread / verdict.n**0.5,
            unit=unit_of(verdict.contrast, result.study),
        )
    return found


def seconds(run: RunResult) -> float:
    """Seconds that a run took, as it recorded them; 0 without a record."""
    found = run.provenance.get("seconds")
    return float(sum(found.values())) if isinstance(found, Mapping) else 0.0


def slug(text: str) -> str:
    """Text as a part of a link."""
    return "-".join("".join(c if c.isalnum() or c in "._-" else " " for c in text).split())


def title(study: Study, result: StudyResult | None = None) -> str:
    """Paper, table and caption, the caption as it holds at a result's scale."""
    caption = study.caption if result is None else text_here(study.caption, result)
    return f"{study.paper_name} {study.title}: {caption}"
