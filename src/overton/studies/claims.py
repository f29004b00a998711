"""Claims: the sentences that a measure may support. Findings and profiles consist of these sentences.

A study declares its claims as data (`Claims`). The number, interval and sample size of each claim come from one row of
the table of estimates, so a sentence never shows another row's number. Each claim has several sentences. The row's
interval, after correction for all tests of an analysis, decides which sentence is reported
(`overton.studies.findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from math import inf, isnan
from typing import Any, TypeAlias

from overton.statistics import Estimate, PreferredEstimate, not_computed
from overton.studies.findings import (
    ASPECTS,
    Aspect,
    CandidateFinding,
    Finding,
    Profiling,
    Said,
    Sentence,
    Trait,
    level_finding,
    remaining,
)
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow
from overton.studies.measures import key_in
from overton.studies.null_conditions import PREFIX
from overton.studies.numbers import Kind, brief_number

OTHER = "other"
"""A value of `Claim.against`: the claim compares the two values of its facet or, without a facet, each pair of
conditions."""

ANY = "any"
"""A value of `Claim.against`: the claim is about each difference between two conditions of a model. The finding's key
names only the row's own condition. `more` may leave out some of the differences."""

MEASURES = "measures"
"""The key of the section with numbers, in the report of a study without layouts."""

_SEPARATOR = " / "

NullOf: TypeAlias = Callable[[Analysis, EstimateRow], float]
"""A function that returns a value for a row: the value that the row's number is compared with, or the p-value of its
test. NaN if the value is unknown."""

TextOf: TypeAlias = Callable[[Analysis, EstimateRow], str]
"""A function that returns a sentence for a row, '' for no sentence."""

More: TypeAlias = Callable[[Analysis, EstimateRow], Mapping[str, str] | None]
"""A function that returns the texts for at most three further placeholders in a claim's sentences, or None if there is
no claim about the row."""


@dataclass(frozen=True)
class ProfileEntry:
    """A claim's part in a model's profile; `title`, `sentence` and `missing` are templates like those of the claim.

    title     the number in a few words
    missing   replaces `sentence` if there is no number; if '', `sentence` is kept
    null      the variant with the number expected without an effect ('null/NAME'); `null_is` describes it in words.
              Without `null`, the profile uses the claim's own value of no effect
    rest      whether the number is 1 minus the measure, which must then be a proportion
    within    the ends of the number's axis in charts, by default the measure's range; `scale` is the axis' title
    by_item   the meaning of the measure for a single item, if a profile also compares models on single items
    """

    aspect: Aspect
    title: str
    sentence: str
    missing: str = ""
    null: str = ""
    null_is: str = "the value without any effect"
    rest: bool = False
    within: tuple[float, float] | None = None
    scale: str = ""
    by_item: str = ""


@dataclass(frozen=True)
class Claim:
    """Sentences about one measure. The measure's interval decides which sentence is reported.

    level    states the number and claims no effect
    missing  replaces `level` if there is no number
    void     the reason not to quote the sentence `missing`; '' if it may be quoted
    above, below  claim that the number is above (below) the value of comparison; '' if that side is not reported
    differs  replaces `above` and `below` by one sentence, which names {higher} and {lower}
    within   claims that the number is on neither side, if the interval stays within `small` of the value of comparison
    unclear  states that the data cannot tell, if the interval stays within `telling`; wider intervals give no sentence
    otherwise  states the number if none of the sentences above applies
    followed  claims about the same model and condition. They are tested only if this claim is an effect, and share its
             significance level
    replaces  in a followed claim: whether its sentence replaces the sentence of the claim that it follows
    against  what the number is compared with: a value, 'null/NAME', `OTHER`, `ANY`, or a function of the row that
             gives a value. If the value is NaN, there is no claim
    p        a function that gives the row's p-value. The p-value, not the interval, then decides whether there is an
             effect
    condition  the only condition that the claim is about; '' if it is about all conditions
    together   the claim is about all models together, and not about single models
    facet    there is one claim for each value of this facet
    unless   a facet. This claim is left out for each model and condition that has claims about the facet
    section  the key of the report's section that shows the number, by default `MEASURES`
    units    what the number's `n` counts ('pairs')
    about    the cause of the effect, as in `Assertion`
    withheld  a function that gives the reason to withhold the row's number, '' to keep it. A withheld number supports
             no claim, and a profile gives the reason
    caution  accompanies sentences that claim an effect; the text of `note` accompanies every sentence
    profile  the claim's part in a model's profile

    Sentences are templates. They may use these placeholders, and those that `more` returns:

    {model}, {condition}  as in the row; {name} is the model with its condition, or only the model in the plain
             condition
    {where}  the condition in parentheses, preceded by a space; '' for the plain condition
    {FACET}, {against}    the value of the claim's facet, and what the number is compared with
    {first}, {second}     the words for the two compared values of a facet, or for the two compared conditions
    {higher}, {lower}     the same words, ordered by number: {higher} has the higher number
    {value}, {low}, {high}  the number and its limits, as its kind shows them; {n} is the row's count
    {units}  the row's count with its unit ('30 pairs'), and how many human labels correct the number
    {size}   the distance between the number and the value of comparison, without a sign
    {most}   the largest distance from the value of comparison to a limit of the interval, on the reported sides
    """

    measure: str
    _: KW_ONLY
    section: str = MEASURES
    level: str = ""
    missing: str = ""
    void: str = ""
    above: str = ""
    below: str = ""
    differs: str = ""
    within: str = ""
    unclear: str = ""
    against: float | str | NullOf = 0.0
    p: NullOf | None = None
    condition: str = ""
    together: bool = False
    facet: str = ""
    unless: str = ""
    units: str = ""
    about: str = ""
    small: float = inf
    telling: float = inf
    otherwise: str = ""
    followed: tuple[Claim, ...] = ()
    replaces: bool = False
    withheld: TextOf | None = None
    caution: str = ""
    note: TextOf | None = None
    more: More | None = None
    profile: ProfileEntry | None = None

    @property
    def sides(self) -> tuple[str, str]:
        """The sentences for a number above and for a number below the value of comparison."""
        return self.above or self.differs, self.below or self.differs

    @property
    def compares_conditions(self) -> bool:
        """Whether the claim compares two conditions of a model."""
        return self.against == OTHER and not self.facet

    def null_of(self, analysis: Analysis, row: EstimateRow) -> float:
        """The value of no effect: the number that the claim is compared with, or 0 for a difference."""
        if callable(self.against):
            return self.against(analysis, row)
        return 0.0 if isinstance(self.against, str) else self.against

    def concerns(self, row: EstimateRow) -> bool:
        """Return whether a row has the claim's model, condition and comparison. Its measure and facet must already be
        those of the claim."""
        if self.condition not in {"", row.condition} or self.together != (row.model is None):
            return False
        if not isinstance(self.against, str):
            return row.against is None
        if self.against in {OTHER, ANY}:
            return row.against is not None and not row.against.startswith(PREFIX)
        return row.against == self.against


@dataclass(frozen=True)
class Claims:
    """All claims of a study.

    items  the word for the items that findings count; in a `StudyReport`, by default the items that intervals are over.
           The analysis' table `counts` has a column named by this word, with the numbers of items by model, facet and
           condition. If `counts` is '', a finding gives the number of clusters behind its estimate, or the estimate's
           `n` if there are no clusters
    noun   the word for the items, if it depends on the analysis
    plain  the condition that sentences and keys do not name; in a `StudyReport`, by default the plain condition of the
           measures
    conditions  the word for a condition ('system prompt'); in comparisons, the plain condition is 'no system prompt'
    by_item  further measures whose numbers for single items are shown in profiles, each with its meaning
    first, more  functions that give findings without a number, before and after all other findings
    by_model  findings are ordered by model and then by claim, whatever their condition
    """

    claims: Sequence[Claim]
    items: str = ""
    plain: str = ""
    conditions: str = "condition"
    noun: Callable[[Analysis], str] | None = None
    counts: str = "counts"
    first: Callable[[Analysis], Iterable[Said]] = lambda analysis: ()
    more: Callable[[Analysis], Iterable[Said]] = lambda analysis: ()
    by_model: bool = False
    by_item: Mapping[str, str] = field(default_factory=dict)

    def findings(self, analysis: Analysis) -> list[Said]:
        """The findings that claim no effect, and the tests to make. They are ordered by model and condition, then by
        claim; claims that compare two conditions are last.

        Raises:
            ValueError: a claim is about a measure that the analysis does not declare.
        """
        said = (said for instance in self._instances(analysis) for said in instance.said())
        return [*self.first(analysis), *said, *self.more(analysis)]

    def traits(self, analysis: Analysis) -> list[Trait]:
        """The parts of models' profiles, in the order of `findings`."""
        return [
            instance.trait(profile)
            for instance in self._instances(analysis)
            if (profile := instance.claim.profile) is not None
        ]

    @property
    def profiling(self) -> Profiling[Analysis]:
        """The study's contribution to a profile."""
        profiles = {
            key_in(claim.measure, claim.condition, self.plain) if claim.condition else claim.measure: claim.profile
            for claim in self.claims
            if claim.profile is not None
        }
        aspects = {profile.aspect for profile in profiles.values()}
        return Profiling(
            tuple(aspect for aspect in ASPECTS if aspect in aspects),
            self.traits,
            {**self.by_item, **{name: profile.by_item for name, profile in profiles.items() if profile.by_item}},
        )

    def _instances(self, analysis: Analysis) -> list[_Instance]:
        """Each claim with each row that it is about. Rows about which nothing is to be said are left out."""
        if unknown := [claim.measure for claim in self.claims if claim.measure not in analysis.measures]:
            raise ValueError(f"there are claims about undeclared measures: {', '.join(unknown)}")
        every = [
            (claim, row)
            for claim in self.claims
            for row in analysis.rows_of(claim.measure, claim.facet or None, variant="plain", item=None)
            if claim.concerns(row)
        ]
        settings = dict.fromkeys((row.model, row.condition or "") for claim, row in every if not claim.facet)
        counts = {
            (cells["model"], cells["facet"], cells["condition"] or ""): int(cells[self.items] or 0)
            for cells in (analysis.counts[self.counts] if self.counts else ())
        }
        found = [
            (_Instance(self, claim, row, condition, names, analysis, counts), place)
            for place, (model, condition) in enumerate(settings)
            for claim, row in every
            if model == row.model and _is_in(condition, row, claim)
            if not claim.compares_conditions or (model, row.against) in settings
            if (names := {} if claim.more is None else claim.more(analysis, row)) is not None
        ]
        found = [entry for entry in found if not isnan(entry[0].null)]
        found.sort(key=lambda entry: (entry[0].claim.compares_conditions, entry[1]))
        if self.by_model:
            models, order = [model for model, _ in settings], list(self.claims)
            found.sort(key=lambda entry: (models.index(entry[0].row.model), order.index(entry[0].claim)))
        facets = {(said.row.model, said.condition, said.claim.facet) for said, _ in found if said.claim.facet}
        return [said for said, _ in found if (said.row.model, said.condition, said.claim.unless) not in facets]


def _is_in(condition: str, row: EstimateRow, claim: Claim) -> bool:
    """Whether a row belongs to a condition, or to a facet's value within that condition."""
    own = row.condition or ""
    if not claim.facet:
        return own == condition
    return own.startswith(f"{condition}{_SEPARATOR}") if condition else True


@dataclass(frozen=True)
class _Instance:
    """A claim about one row. `more` are the claim's further names, and `counts` says how many items there are by model,
    facet and condition."""

    claims: Claims
    claim: Claim
    row: EstimateRow
    condition: str
    more: Mapping[str, str]
    analysis: Analysis
    counts: Mapping[tuple[Any, Any, Any], int]

    @property
    def noun(self) -> str:
        """The word for the items that findings count."""
        return self.claims.items if self.claims.noun is None else self.claims.noun(self.analysis)

    @cached_property
    def number(self) -> Estimate:
        """The row's number, unless it is withheld."""
        why = "" if self.claim.withheld is None else self.claim.withheld(self.analysis, self.row)
        return not_computed(why) if why else self.row.number

    @cached_property
    def null(self) -> float:
        """The value of no effect."""
        return self.claim.null_of(self.analysis, self.row)

    @property
    def value(self) -> str:
        """The value of the claim's facet."""
        return (self.row.condition or "").removeprefix(f"{self.condition}{_SEPARATOR}" if self.condition else "")

    @property
    def declared(self) -> DeclaredMeasure:
        return self.analysis.measures[self.claim.measure]

    @property
    def kind(self) -> Kind:
        """The format of the claim's number: a difference between proportions is in points."""
        kind = self.declared.kind
        return "points" if kind == "share" and self.row.against is not None else kind

    @property
    def key(self) -> str:
        """The measure's key with the facet's value and the condition. The key of a difference between two facet values
        ends in '_difference', unless the measure is itself a difference."""
        claim, plain = self.claim, self.claims.plain
        ending = f"_{self.value}" if claim.facet else ""
        if claim.facet and self.row.against is not None:
            ending = "" if self.declared.kind == "points" else "_difference"
        return "_minus_".join(key_in(claim.measure + ending, name, plain) for name in self.conditions)

    @property
    def model(self) -> str:
        return self.row.model or ""

    @property
    def conditions(self) -> list[str]:
        """The row's condition and, if the claim compares conditions, the other condition."""
        return [self.condition, self.against] if self.claim.compares_conditions else [self.condition]

    @property
    def compared(self) -> tuple[str, str]:
        """The two values of the facet, or the two conditions, in words."""
        if not self.claim.compares_conditions:
            return self.value, self.against
        plain, kind = self.claims.plain, self.claims.conditions
        first, second = (f"no {kind}" if name == plain else name for name in self.conditions)
        return first, second

    @property
    def against(self) -> str:
        """The other side of the comparison, in words if it is a number."""
        return brief_number(self.null, self.kind, self.row.number.n) if self.row.against is None else self.row.against

    @property
    def items(self) -> int:
        """The number of items behind the row's number. A facet's value has its own count. A difference has the count of
        its model and condition; a difference between two conditions has the smaller of the conditions' counts."""
        row, claim = self.row, self.claim
        if not self.claims.counts:
            return row.clusters or row.number.n
        if claim.facet and row.against is None:
            return self.counts[row.model, claim.facet, row.condition or ""]
        return min(self.counts[row.model, None, condition] for condition in self.conditions)

    def sentence(self, template: str, number: Estimate) -> str:
        """Fill in a template. `number` is this row's number with its own limits, or with limits corrected for multiple
        tests."""
        claim, model, is_plain = self.claim, self.model, self.condition == self.claims.plain
        first, second = self.compared
        higher, lower = (first, second) if number.value > self.null else (second, first)
        names = {
            "model": model,
            "name": model if is_plain else f"{model}, {self.condition}",
            "where": "" if is_plain else f" ({self.claims.conditions} {self.condition})",
            "condition": self.condition,
            "against": self.against,
            "first": first,
            "second": second,
            "higher": higher,
            "lower": lower,
            claim.facet: self.value,
            "units": _with_units(self.row.number, claim.units),
            **_numbers(number, self.kind, claim, self.null),
            **self.more,
        }
        try:
            return template.format_map(names)
        except KeyError as error:
            known = ", ".join(sorted(name for name in names if name))
            wrong = f"{{{error.args[0]}}}"
            raise ValueError(f"{template!r} uses the unknown name {wrong}; a sentence may use {known}") from error

    def said(self) -> Iterator[Said]:
        """Yield the finding that claims no effect, and the claim's test."""
        if self.claim.level:
            yield from self._level()
        if any(self.claim.sides):
            yield self._candidate()

    def _level(self) -> Iterator[Finding]:
        template = self.claim.missing if isnan(self.number.value) else self.claim.level
        if template:
            yield self._standing(template)

    def _standing(self, template: str) -> Finding:
        number = None if isnan(self.number.value) else self.number
        return level_finding(
            self.model,
            self.sentence(template, self.number),
            self.items,
            self.noun,
            self.claim.section,
            number=number,
            kind=self.kind,
            judge=self.declared.judge,
            void="" if number else self.claim.void,
            caution=self.note,
            measure=self.key,
        )

    @property
    def note(self) -> str:
        """A note to be read with every sentence."""
        return "" if self.claim.note is None else self.claim.note(self.analysis, self.row)

    def _followers(self) -> Iterator[CandidateFinding]:
        for claim in self.claim.followed:
            row = self.analysis.row(claim.measure, model=self.row.model, condition=self.row.condition)
            if row is not None:
                yield replace(self, claim=claim, row=row)._candidate()

    def _candidate(self) -> CandidateFinding:
        claim = self.claim
        above, below = claim.sides
        return CandidateFinding(
            model=self.model,
            number=self.number,
            clusters=self.row.clusters or self.items,
            n=self.items,
            units=self.noun,
            exhibit=claim.section,
            above=self._when_decided(above),
            below=self._when_decided(below),
            within=self._when_decided(claim.within),
            unclear=self._when_decided(claim.unclear),
            null=self.null,
            p=None if claim.p is None else claim.p(self.analysis, self.row),
            kind=self.kind,
            judge=self.declared.judge,
            caution=self.note,
            effect_caution=claim.caution,
            followed=tuple(self._followers()),
            replaces=claim.replaces,
            otherwise=self._standing(claim.otherwise) if claim.otherwise and not isnan(self.number.value) else None,
            small=claim.small,
            telling=claim.telling,
            measure=self.key,
            about=claim.about,
            condition=claim.against.partition(PREFIX)[2] if isinstance(claim.against, str) else "",
        )

    def _when_decided(self, template: str) -> Sentence | None:
        """A function that makes the sentence from the number with its corrected limits; None without a template."""
        return partial(self.sentence, template) if template else None

    def trait(self, profile: ProfileEntry) -> Trait:
        """The claim's part in the model's profile."""
        row, (low, high) = self.row, self.declared.range
        number = remaining(self.number) if profile.rest else self.number
        template = profile.missing if profile.missing and isnan(number.value) else profile.sentence
        where = {"model": row.model, "condition": row.condition, "variant": profile.null}
        in_null = self.analysis.row(row.measure, **where) if profile.null else None
        of_effect = self.null if any(self.claim.sides) and not profile.null else None
        return Trait(
            aspect=profile.aspect,
            model=self.model,
            measure=row.measure,
            facet=row.facet,
            condition=row.condition,
            against=row.against,
            rest=profile.rest,
            title=self.sentence(profile.title, number),
            sentence=self.sentence(template, number),
            number=number,
            units=self.claim.units,
            exhibit=self.claim.section,
            kind=self.kind,
            within=profile.within or (-inf if low is None else low, inf if high is None else high),
            scale=profile.scale,
            null=of_effect if in_null is None else in_null.estimate,
            null_is=profile.null_is,
        )


def _numbers(number: Estimate, kind: Kind, claim: Claim, null: float) -> dict[str, str]:
    """The texts of the numbers that a claim's sentences may give."""
    above, below = claim.sides
    sides = [number.high - null] if above else []
    sides += [null - number.low] if below else []
    return {
        **{name: brief_number(getattr(number, name), kind, number.n) for name in ("value", "low", "high")},
        "size": brief_number(abs(number.value - null), kind, number.n),
        "most": brief_number(max([0.0, *sides]), kind, number.n),
        "n": f"{number.n:,}",
    }


def _with_units(number: Estimate, units: str) -> str:
    """State how many units a number describes, and how many of these units have human labels that correct the
    number."""
    judged = number.beside["plain"] if isinstance(number, PreferredEstimate) else number
    said = f"one {units.removesuffix('s')}" if judged.n == 1 else f"{judged.n:,} {units}"
    is_corrected = isinstance(number, PreferredEstimate) and number.leads == "corrected"
    return f"{said}, corrected with human labels for {number.n:,}" if is_corrected else said
