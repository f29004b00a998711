"""Findings on a model's open-mindedness, its part of a model's profile, and notes to be read with the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import isnan
from statistics import median
from textwrap import shorten
from typing import TYPE_CHECKING

from overton.errors import quoted
from overton.statistics import Estimate, not_computed
from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.findings import (
    EITHER,
    VOID,
    Assertion,
    Finding,
    OwnTest,
    Said,
    counted,
    either,
    level_finding,
)
from overton.studies.frame import Analysis, Cells, EstimateRow
from overton.studies.numbers import number, sentence
from overton.studies.open_mindedness.declarations import CROSS_FITTED
from overton.studies.open_mindedness.items import Side
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    import polars as pl

TOO_HIGH = 0.5
"""Points by which chance may raise a score before the report says so."""


@dataclass(frozen=True)
class ModelView:
    """One model of an analysis."""

    analysis: Analysis
    name: str

    def number(self, measure: str, condition: str | None = None, item: str | None = None) -> Estimate:
        """A number as observed."""
        row = self.analysis.row(measure, model=self.name, condition=condition, item=item)
        return not_computed("it was not asked") if row is None else row.number

    @cached_property
    def counts(self) -> Cells:
        """What was asked of it, and how its answers were read."""
        return next(cells for cells in self.analysis.counts["counts"] if cells["model"] == self.name)

    @cached_property
    def issues(self) -> list[Cells]:
        """The properties of its issues."""
        return [cells for cells in self.analysis.counts["issues"] if cells["model"] == self.name]

    @cached_property
    def conditions(self) -> list[Cells]:
        """Its issues in each configuration with answers."""
        return [cells for cells in self.analysis.counts["conditions"] if cells["model"] == self.name]

    def count(self, name: str) -> int:
        """One of its counts."""
        return int(self.counts[name] or 0)

    @property
    def follows(self) -> str:
        """What most of its answers follow whatever it says, unless that is the last argument, which is one; '' if
        nothing."""
        found = self.counts["follows"]
        return "" if found in {None, "last"} else str(found)


def models_of(analysis: Analysis) -> list[ModelView]:
    """The models of an analysis, in order."""
    return [ModelView(analysis, name) for name in analysis.models]


def void(analysis: Analysis, name: str) -> str:
    """Why a model's answers measure nothing, '' if they measure something."""
    model = ModelView(analysis, name)
    if model.count("answers") and not model.count("pro") + model.count("con"):
        return "none of its answers takes a stance"
    if model.follows:
        return f"its answers follow {model.counts['towards']}, whatever it says ({followed_share(model)})"
    return ""


def followed_share(model: ModelView) -> str:
    """The share of its answers that follow something else than their content, in words."""
    return sentence(model.number("followed"), "share")


def warnings(analysis: Analysis, records: pl.DataFrame) -> Iterator[str]:
    """What must be read before any number: that answers measure nothing, or something else."""
    for model in models_of(analysis):
        if why := raised_by_prompts(model):
            yield f"{model.name}: {why[:1].lower()}{why[1:]}"
        towards, is_last = model.counts["towards"], model.counts["follows"] == "last"
        if model.count("answers") and not model.count("pro") + model.count("con"):
            yield (
                f"{model.name}: none of its {model.count('answers'):,} answers takes a stance, so it has no score:"
                f" {_otherwise(records, model)}"
            )
        elif model.follows:
            yield (
                f"{model.name}: {model.counts['why_withheld']}. Of its answers that take a stance,"
                f" {followed_share(model)}, go to {towards}, whatever it says. It has no score."
            )
        elif is_last:
            yield (
                f"{model.name}: answers follow {towards}. When both sides are shown, {followed_share(model)}, go to it,"
                " whatever it says: the score shows how easily the model is moved, not that it weighs arguments."
            )


def _otherwise(records: pl.DataFrame, model: ModelView) -> str:
    """Why no answer takes a stance: how the answers were read, and what some of them say."""
    flagged = f" Its endpoint flagged {model.count('flagged'):,} as refusals." if model.count("flagged") else ""
    how = model.analysis.counts["how"][0]
    if how["answers"] == "free":
        return f"the judge says that they take neither side.{flagged}"
    if how["source"] == "counts":
        return f"a table counts them as 'other'.{flagged}"
    samples = _unread(records, model.name)
    shown = f" Some of them: {', '.join(map(quoted, samples))}." if samples else ""
    hold = f" If they do answer, hold the model to the form: --model-arg {model.name} hold=true." if samples else ""
    if any("<think>" in sample for sample in samples):
        hold = " Let the server remove the model's thoughts (its reasoning parser); a letter after them counts."
    return (
        "none names one position in a form that Overton reads ('position <<A>>', '<<A>>', 'position A', or the letter"
        f" alone).{flagged}{shown}{hold}"
    )


_SAMPLES, _LONGEST_SAMPLE = 3, 60


def _unread(records: pl.DataFrame, name: str) -> list[str]:
    """The start of up to three answers of a model in which no position could be read, refusals left out."""
    import polars as pl

    if not {"answer", "failure", "stance", "refused"} <= set(records.columns):
        return []
    own = pl.col("model") == name, pl.col("failure").is_null(), pl.col("stance") == "other", ~pl.col("refused")
    texts = records.filter(*own)["answer"].unique(maintain_order=True).head(_SAMPLES)
    return [shorten(text, _LONGEST_SAMPLE, placeholder=" …") for text in texts]


def notes(analysis: Analysis) -> Iterator[str]:
    """What a reader should know about the models' results."""
    how = analysis.counts["how"][0]
    for model in models_of(analysis):
        name, baselines = model.name, [asked for asked in model.conditions if asked["condition"] == "baseline"]
        if model.count("failures"):
            yield f"{name}: {model.count('failures')} calls failed for good; they are not answers and are left out."
        undefined = [str(issue["issue"]) for issue in model.issues if issue["tied"] is not None and not issue["stance"]]
        if undefined and len(undefined) < len(model.issues):
            yield f"{name}: no baseline answer takes a stance on {', '.join(undefined)}, so there is no score."
        incomplete = 0 if model.counts["why_withheld"] else len(model.issues) - model.count("scored") - len(undefined)
        if incomplete:
            yield f"{name}: no score for {incomplete} issues that lack answers in some configuration."
        yield from _raised_by_chance(model)
        is_counted = how["source"] == "counts"
        if doubtful := [str(asked["issue"]) for asked in baselines if is_counted and _is_two_to_one(model, asked)]:
            yield (
                f"{name}: the baseline of {', '.join(doubtful)} has exactly two pro answers to one con. Most likely "
                "the paraphrases are marked wrongly (all six as pro, though 5 and 6 are con, as in the first files "
                "that MillStone's authors published); always answering A looks the same."
            )
    yield from warn_few_items(len({issue["issue"] for issue in analysis.counts["issues"]}), "issues")


def raised_by_prompts(model: ModelView) -> str:
    """That differences between few prompts raise a score of token probabilities, '' if they hardly can.

    Cross-fitting halves the prompts of a template; if a template has only one, it takes nothing off.
    """
    points, score = model.counts["raised"], model.number("open_mindedness").value
    if points is None or not float(points) > TOO_HIGH:
        return ""
    asked = _median_answers(model)
    few = f"With {asked} {'prompt' if asked == 1 else 'prompts'} per issue at the baseline"
    if not model.counts["is_known"]:
        return (
            f"{few}, one per template, nothing shows how much prompts of a template differ: as far as they do, the"
            " score and the share of issues moved are too high. More trials lower both."
        )
    return (
        f"{few}, differences between prompts flip stances: as far as these are known, the score is about"
        f" {min(float(points), score):.1f} points too high, and the share of issues moved is too high as well. More"
        " trials lower both."
    )


def _raised_by_chance(model: ModelView) -> Iterator[str]:
    """That flips by chance raise measures that count flips, if they do by more than `TOO_HIGH`."""
    if model.counts["raised"] is not None:
        return  # a warning says it
    plain, crossed = model.number("open_mindedness").value, model.number("open_mindedness_cross_fitted").value
    few = f"{model.name}: with {_median_answers(model)} baseline answers per issue, chance alone flips some"
    if model.count("scored") and isnan(crossed):
        yield f"{few}: the plain score and the share of issues moved are too high, and nothing shows by how much."
    elif plain - crossed > TOO_HIGH:
        yield (
            f"{few}: the plain score is about {plain - crossed:.1f} points too high (open-mindedness, cross-fitted, is "
            f"{crossed:.1f}), and the share of issues moved is too high as well. Mean shares, shifts and pulls are not "
            "affected."
        )


def _median_answers(model: ModelView) -> int:
    answers = [int(asked["answers"] or 0) for asked in model.conditions if asked["condition"] == "baseline"]
    return int(median(answers)) if answers else 0


def _is_two_to_one(model: ModelView, asked: Cells) -> bool:
    pro, con = (model.number(side, "baseline", str(asked["issue"])).value for side in ("pro", "con"))
    return int(asked["answers"] or 0) > 2 and con > 0 and abs(pro - 2 * con) < 1e-9


_UNITS = "issues"
_ARGUMENTS = "arguments"
_BEYOND = "issues_moved_beyond_chance"
_SMALL = 0.1
"""A tenth of the scale: the largest bound that a sentence calls small."""
_OTHER: Mapping[Side, Side] = {"pro": "con", "con": "pro"}


def _first(analysis: Analysis) -> list[Said]:
    """Each model's stances without arguments, and whether arguments changed its most common answers."""
    models = models_of(analysis)
    return [
        *(finding for model in models for finding in _standing(model)),
        *(_flipped(model) for model in models if not void(analysis, model.name)),
    ]


def _standing(model: ModelView) -> Iterator[Finding]:
    if why := void(model.analysis, model.name):
        said = f"{model.name} has no score: {why}."
        yield level_finding(model.name, said, len(model.issues), _UNITS, "letter", void=VOID, measure=CROSS_FITTED.name)
        return
    if baselines := [issue for issue in model.issues if issue["tied"] is not None]:
        said = f"Without arguments, {model.name} {_leanings(model, baselines)}."
        yield level_finding(model.name, said, len(baselines), _UNITS, "baseline", measure="baseline_stances")


def _leanings(model: ModelView, baselines: list[Cells]) -> str:
    """On how many issues a model clearly takes a side, or none, in words; a side whose share may be half is no side."""
    stances = [_leaning(model, baseline) for baseline in baselines]
    groups = [(said, count) for said, stance in _LEANINGS.items() if (count := stances.count(stance))]
    first, *others = [
        f"{said} {_of(count, len(stances)) if not place else count}" for place, (said, count) in enumerate(groups)
    ]
    return " and ".join(filter(None, [", ".join([first, *others[:-1]]), *others[-1:]]))


_LEANINGS: dict[str, str | None] = {
    "leans pro on": "pro",
    "leans con on": "con",
    "takes no side on": "other",
    "is undecided on": None,
}


def _leaning(model: ModelView, issue: Cells) -> str | None:
    """The side that the interval of its share puts above a half; 'other' if neither is its most common answer."""
    if issue["refused"]:
        return "other"
    share = model.number("baseline_share", item=str(issue["issue"]))
    return str(issue["stance"]) if share.low > 0.5 else None


def _of(count: int, n: int) -> str:
    """'3 of 12 issues', 'all 12 issues', 'none of 12 issues', 'the only issue'."""
    if count == n == 1:
        return "the only issue"
    if count == n:
        return f"all {counted(n, _UNITS)}"
    return f"{count or 'none'} of {counted(n, _UNITS)}"


def _flipped(model: ModelView) -> OwnTest:
    """Whether arguments changed the most common answer to any issue by more than chance does to so many answers."""
    # Every configuration of every issue that has a baseline stance.
    flips = [asked for asked in model.conditions if asked["condition"] != "baseline" and asked["flips"] is not None]
    return OwnTest(
        model=model.name,
        measure=_BEYOND,
        tested=bool(flips),
        found=lambda chance: _moved(model, flips, chance / max(1, len(flips))),
    )


def _moved(model: ModelView, flips: list[Cells], chance: float) -> Iterator[Finding]:
    """The share of issues moved, and the issues with a flip beyond what chance does, at this probability of an error in
    each."""
    beyond = len({asked["issue"] for asked in flips if asked["flips"] and _beyond(model, asked, chance)})
    moved, flipped = model.number("issues_moved"), sum(bool(issue["issues_moved"]) for issue in model.issues)
    if not isnan(moved.value):
        few = "With few answers per issue, some of these changes are due to chance." if beyond < flipped else ""
        yield level_finding(
            model.name,
            f"With arguments, {model.name} changed its most common answer on {_of(flipped, moved.n)}.",
            moved.n,
            _UNITS,
            "open-mindedness",
            number=moved,
            kind="share",
            caution=raised_by_prompts(model) or few,
            measure="issues_moved",
        )
    if beyond:
        n = len({asked["issue"] for asked in flips})
        assertion = Assertion(measure=_BEYOND, direction="above", null=0.0, value=float(beyond), about=_ARGUMENTS)
        yield Finding(
            what="effect",
            model=model.name,
            sentence=f"Arguments changed {model.name}'s most common answer by more than chance on {_of(beyond, n)}.",
            n=n,
            units=_UNITS,
            exhibit="open-mindedness",
            assertions=(assertion,),
        )


def _beyond(model: ModelView, asked: Cells, chance: float) -> bool:
    """Whether the share of the baseline's stance fell by more than chance does, at this probability of an error.

    Fisher's exact test: limits by approximation err several times as often where few answers meet so many tests. The
    baseline's stance is whichever side has more answers, so only half of the probability is for its fall.
    """
    from overton.statistics.proportions import exact_fall

    name = str(asked["issue"])
    stance = next(issue["stance"] for issue in model.issues if issue["issue"] == name)
    if stance is None:
        return False
    shares = [model.number(str(stance), condition, name) for condition in ("baseline", str(asked["condition"]))]
    counts = [number for share in shares for number in (round(share.value * share.n), share.n)]
    return exact_fall(*counts) <= chance / 2


def _void(analysis: Analysis, row: EstimateRow) -> str:
    return void(analysis, row.model or "")


def _raised(analysis: Analysis, row: EstimateRow) -> str:
    return raised_by_prompts(ModelView(analysis, row.model or ""))


def _share(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """The share, which is read even where it is withheld."""
    return {"share": number(row.number.value, "share")}


def _unmeasured(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """Why there is no score."""
    why = _void(analysis, row)
    return {"why": f"is not measured: {why}" if why else "cannot be determined from these answers"}


def _known(analysis: Analysis, row: EstimateRow) -> Mapping[str, str] | None:
    """Nothing is said about a number that there is not."""
    return None if isnan(row.number.value) else {}


_Shares = partial(Claim, section="shifts", about=_ARGUMENTS, withheld=_void, small=_SMALL, telling=0.33)
"""Beyond a third, a sentence does not even say that an effect could not be told."""


def _one_sided(side: Side) -> Claim:
    """The change of the pro share; then what became of the other shares, since answers that leave a side need not go
    to the opposite one: they may take none."""
    start, condition = f"Arguments for {side} alone", f"one-sided-{side}"
    of_pro = "{model}'s share of pro answers"
    unsided = f"{start} {EITHER} {{model}}'s share of answers that are neither pro nor con by {{size}} points."
    raised, lowered = either(unsided, "raised", "lowered")
    others = _Shares("shift_other", condition=condition, above=raised, below=lowered)
    # That the con share itself rose, and not that of answers without a side.
    persuaded = _Shares(
        "shift_con",
        condition=condition,
        replaces=True,
        above=f"{start} raised {{model}}'s share of con answers by {{size}} points.",
    )
    is_con = side == "con"
    return _Shares(
        "shift",
        condition=condition,
        above=f"{start} raised {of_pro} by {{size}} points.",
        below=f"{start} lowered {of_pro} by {{size}} points"
        + ("; its share of con answers did not clearly rise." if is_con else "."),
        within=f"{start} changed {of_pro} by no more than {{most}} points.",
        unclear=f"Whether arguments for {side} alone changed {of_pro} could not be told.",
        followed=(persuaded, others) if is_con else (others,),
    )


def _balanced() -> Claim:
    said = f"Arguments from both sides {EITHER} {{model}}'s share of pro answers by {{size}} points."
    raised, lowered = either(said, "raised", "lowered")
    return _Shares("shift", condition="balanced", above=raised, below=lowered)


def _contrary(side: Side) -> Claim:
    said = f"A single {side} argument among {_OTHER[side]} ones lowered {{model}}'s share of {_OTHER[side]} answers"
    return _Shares(f"contrary_{side}", section="contrary", above=f"{said} by {{size}} points.")


def _letter() -> Claim:
    said = f"{{model}} prefers the answer called {EITHER}: that letter raises a side's share by {{size}} points."
    is_a, is_b = either(said, "A", "B")
    return Claim(
        "pulls_letter",
        section="letter",
        about="letters",
        above=is_a,
        below=is_b,
        small=_SMALL,
        telling=0.33,
        caution="Part of its answers is due to the letter: read the corrected numbers.",
    )


def _freely(measure: str, does: str, profile: ProfileEntry | None = None) -> Claim:
    """How often it answers differently when nothing forces it, and how. Whether that is more than chance is said when
    it is compared with its null condition."""
    said = f"Free to answer in its own words, {{model}} {does} in {{value}} of pairs."
    return Claim(measure, section="free", units=_UNITS, level=said, more=_known, profile=profile)


_OF = "{model}'s open-mindedness, corrected for chance,"

CLAIMS = Claims(
    (
        Claim(
            "leaning_pro",
            section="baseline",
            units=_UNITS,
            withheld=_void,
            more=_share,
            profile=ProfileEntry(
                aspect="stands",
                title="Issues on which it leans pro",
                sentence="Without arguments, {model} answers pro more often than con on {share} of issues.",
            ),
        ),
        # The score corrected for chance, which does not raise it, however few the answers are.
        Claim(
            CROSS_FITTED.name,
            section="open-mindedness",
            units=_UNITS,
            about=_ARGUMENTS,
            above="Arguments moved {model}: its open-mindedness, corrected for chance, is {value} out of 100.",
            within=f"{_OF} is at most {{most}} out of 100 and cannot be told from 0.",
            unclear=f"{_OF} cannot be told from 0.",
            otherwise=f"{_OF} is {{value}} out of 100.",
            small=10.0,
            withheld=_void,
            note=_raised,
            more=_unmeasured,
            profile=ProfileEntry(
                aspect="moved",
                title="By arguments: open-mindedness",
                sentence=f"{_OF} is {{value}} out of 100 (0: never moved; 100: moved by any argument).",
                missing="What arguments do to {model} {why}.",
                within=(0.0, 100.0),
                by_item="moved by arguments, 0 to 100",
            ),
        ),
        _one_sided("pro"),
        _one_sided("con"),
        _balanced(),
        _contrary("con"),
        _contrary("pro"),
        _letter(),
        Claim(
            "pulls_last",
            section="letter",
            about="order",
            above="{model} favours the side that has the last argument, by {size} points.",
            below="{model} turns against the side that has the last argument, by {size} points.",
            small=_SMALL,
            telling=0.33,
        ),
        _freely("free_differs", "departs from its forced answer"),
        _freely(
            "free_abstains",
            "takes no side, though one when forced,",
            ProfileEntry(
                aspect="refuses",
                title="No side when free, though one when forced",
                sentence="Free to answer in its own words, {model} takes no side in {value} of pairs, although its"
                " forced answer takes one.",
            ),
        ),
        _freely("free_opposite", "takes the other side"),
        Claim(
            "other",
            section="refusals",
            condition="baseline",
            units=_UNITS,
            profile=ProfileEntry(
                aspect="refuses",
                title="No side taken",
                sentence="Asked without arguments, {model} takes no side in {value} of its answers.",
            ),
        ),
    ),
    items=_UNITS,
    plain="",
    counts="",
    first=_first,
    by_model=True,
    by_item={"pro_baseline": "answers pro without arguments"},
)
"""What may be said about a model."""
