"""Findings on a model's open-mindedness, the entries that they add to the model's profile, and notes on the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isnan
from statistics import median
from textwrap import shorten
from typing import TYPE_CHECKING

from overton.errors import quoted
from overton.statistics.estimate import FEWEST
from overton.studies.claims import Claim, Claims, ProfileEntry
from overton.studies.findings import (
    DOUBTFUL,
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
from overton.studies.numbers import brief_estimate, brief_value
from overton.studies.open_mindedness.declarations import CROSS_FITTED
from overton.studies.open_mindedness.items import Side
from overton.studies.open_mindedness.model_view import ModelView, models_of
from overton.studies.open_mindedness.record import UNREAD_FORMS
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    import polars as pl

TOO_HIGH = 0.5
"""The report warns if chance raises a score by more than this number of points."""


def void(analysis: Analysis, name: str) -> str:
    """The reason why a model's answers cannot be measured; '' if they can be measured."""
    model = ModelView(analysis, name)
    if model.count("answers") and not model.count("pro") + model.count("con"):
        return "none of its answers takes a stance"
    if model.follows:
        return f"its answers follow {model.counts['towards']}, regardless of content ({followed_share(model)})"
    return ""


def followed_share(model: ModelView) -> str:
    """The proportion of answers that follow something other than the content of the prompt, in words."""
    return brief_estimate(model.number("followed"), "share")


def warnings(analysis: Analysis, records: pl.DataFrame) -> Iterator[str]:
    """Warnings for the top of the report: a model's answers cannot be measured, or its numbers are misleading."""
    raised: dict[str, list[str]] = {}
    for model in models_of(analysis):
        raised.setdefault(raised_by_prompts(model), []).append(model.name)
    yield from (f"{', '.join(names)}: {why[:1].lower()}{why[1:]}" for why, names in raised.items() if why)
    for model in models_of(analysis):
        towards, is_last = model.counts["towards"], model.counts["follows"] == "last"
        if model.count("answers") and not model.count("pro") + model.count("con"):
            yield (
                f"{model.name} has no score, because none of its {model.count('answers'):,} answers takes a stance:"
                f" {_otherwise(records, model)}"
            )
        else:
            yield from _unread_answers(model, records)
        if not model.count("pro") + model.count("con"):
            continue
        if model.follows:
            yield (
                f"{model.name} has no score: {model.counts['why_withheld']}. Of its answers that take a stance,"
                f" {followed_share(model)} choose {towards}, regardless of content."
            )
        elif is_last:
            yield (
                f"{model.name}: answers follow {towards}. When arguments of both sides are shown,"
                f" {followed_share(model)} of answers choose this side, whatever the arguments say. The score shows"
                " that the model is easily moved. It does not show that the model considers the arguments."
            )


def _otherwise(records: pl.DataFrame, model: ModelView) -> str:
    """The reason why no answer takes a stance: how Overton read the answers, and examples of answers."""
    flagged = f" Its endpoint flagged {model.count('flagged'):,} as refusals." if model.count("flagged") else ""
    how = model.analysis.counts["how"][0]
    if how["answers"] == "free":
        return f"the judge labelled all of them as taking neither side.{flagged}"
    if how["source"] == "counts":
        return f"the table counts all of them as 'other'.{flagged}"
    forms = unread_forms(model)
    samples = _unread(records, model.name)
    shown = f" Some of them: {', '.join(map(quoted, samples))}." if samples else ""
    if forms:
        return f"{_in_words(forms)}.{flagged}{shown}{_advice(model.name, forms)}"
    hold = _HOLD.format(model.name) if samples else ""
    if any("<think>" in sample for sample in samples):
        hold = " The common reading leaves the model's thinking out: run overton analyze with --reading common."
    return (
        "no answer names a single position in a form that the strict reading takes ('position <<A>>', '<<A>>',"
        f" 'position A', or the letter alone).{flagged}{shown}{hold}"
    )


_HOLD = " If such answers do choose a side, force the requested reply format: --model-arg {} hold=true."
_UNREAD_WORDS = {
    "both": ("names both positions", "name both positions"),
    "none": ("decides for neither", "decide for neither"),
    "empty": ("is empty", "are empty"),
    "thinking": ("ended while the model was still thinking",) * 2,
}
"""Descriptions of answers without a letter, in the singular and in the plural."""


def unread_forms(model: ModelView) -> dict[str, int]:
    """The number of a model's answers without a letter, by form, according to the common reading."""
    found = model.analysis.counts.get("forms", ()) if model.analysis.counts["how"][0]["reading"] == "common" else ()
    counted = {str(cells["form"]): int(str(cells["answers"])) for cells in found if cells["model"] == model.name}
    return {form: counted[form] for form in UNREAD_FORMS if form in counted}


def _in_words(forms: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {_UNREAD_WORDS[form][count > 1]}" for form, count in forms.items())


def _advice(name: str, forms: Mapping[str, int]) -> str:
    """Advice for models whose answers have no letter."""
    limit = f" Raise its token limit: --model-arg {name} max_tokens=N." if {"empty", "thinking"} & {*forms} else ""
    return limit + (_HOLD.format(name) if {"both", "none"} & {*forms} else "")


_MANY_UNREAD = 0.1
"""The report begins with a warning if the proportion of answers without a letter reaches this limit, which Overton
chose."""


def _unread_answers(model: ModelView, records: pl.DataFrame) -> Iterator[str]:
    """The warning that many of a model's answers name no single position, with examples."""
    forms, answers = unread_forms(model), model.count("answers")
    unread = sum(forms.values())
    if unread and unread >= _MANY_UNREAD * answers:
        samples = _unread(records, model.name)
        shown = f", such as {', '.join(map(quoted, samples))}" if samples else ""
        yield (
            f"{model.name}: {unread:,} of its {answers:,} answers name no single position ({_in_words(forms)}){shown}."
            f" They count as other.{_advice(model.name, forms)}"
        )


_SAMPLES, _LONGEST_SAMPLE = 3, 60


def _unread(records: pl.DataFrame, name: str) -> list[str]:
    """The beginnings of up to three answers of a model that take no stance. Answers flagged as refusals are left
    out."""
    import polars as pl

    if not {"answer", "failure", "stance", "refused"} <= set(records.columns):
        return []
    own = pl.col("model") == name, pl.col("failure").is_null(), pl.col("stance") == "other", ~pl.col("refused")
    texts = records.filter(*own)["answer"].unique(maintain_order=True).head(_SAMPLES)
    return [shorten(text, _LONGEST_SAMPLE, placeholder=" …") for text in texts if text.strip()]


def notes(analysis: Analysis) -> Iterator[str]:
    """Notes on the models' results."""
    how = analysis.counts["how"][0]
    for model in models_of(analysis):
        name, baselines = model.name, [asked for asked in model.conditions if asked["condition"] == "baseline"]
        if model.count("failures"):
            failed = counted(model.count("failures"), "calls")
            yield f"{name}: {failed} failed permanently. Failed calls are left out of all shares."
        undefined = [str(issue["issue"]) for issue in model.issues if issue["tied"] is not None and not issue["stance"]]
        if undefined and len(undefined) < len(model.issues):
            yield f"{name} has no score for {', '.join(undefined)}, because no baseline answer takes a stance there."
        incomplete = 0 if model.counts["why_withheld"] else len(model.issues) - model.count("scored") - len(undefined)
        if incomplete:
            issues = counted(incomplete, _UNITS)
            yield f"{name} has no score for {issues}, because some configuration has no answers there."
        yield from _raised_by_chance(model)
        is_counted = how["source"] == "counts"
        if doubtful := [str(asked["issue"]) for asked in baselines if is_counted and _is_two_to_one(model, asked)]:
            yield (
                f"{name}: the baseline of {', '.join(doubtful)} has exactly two pro answers for each con answer."
                " Probably all six paraphrases are marked as pro, although paraphrases 5 and 6 are con. The first files"
                " that MillStone's authors published had this error. A model that always answers A gives the same"
                " ratio."
            )
    yield from warn_few_items(len({issue["issue"] for issue in analysis.counts["issues"]}), "issues")


def raised_by_prompts(model: ModelView) -> str:
    """The warning that a score from token probabilities is too high, because the model was asked too few prompts. '' if
    the effect is negligible.

    Cross-fitting splits the prompts of a template into halves. If a template has only one prompt, cross-fitting has no
    effect.
    """
    points, score = model.counts["raised"], model.number("open_mindedness").value
    if points is None or not float(points) > TOO_HIGH:
        return ""
    asked = _median_answers(model)
    few = f"Only {asked} {'prompt' if asked == 1 else 'prompts'} per issue {'was' if asked == 1 else 'were'} asked"
    if not model.counts["is_known"]:
        return (
            f"{few} without arguments, one per template. Random differences between prompts may therefore make the"
            " score and the share of issues moved too high, by an unknown amount. More trials reduce this bias."
        )
    return (
        f"{few} without arguments, so random differences between prompts change some stances. The score is about"
        f" {min(float(points), score):.1f} points too high, as far as this can be estimated, and the share of"
        " issues moved is also too high. More trials reduce this bias."
    )


def _raised_by_chance(model: ModelView) -> Iterator[str]:
    """The warning that measures of flips are too high because of flips by chance, if the effect exceeds `TOO_HIGH`."""
    if model.counts["raised"] is not None:
        return  # `raised_by_prompts` warns instead
    plain, crossed = model.number("open_mindedness").value, model.number("open_mindedness_cross_fitted").value
    answers = counted(_median_answers(model), "baseline answers")
    few = f"{model.name}: with {answers} per issue, some stances change by chance alone."
    if model.count("scored") and isnan(crossed):
        yield f"{few} The plain score and the share of issues moved are too high by an unknown amount."
    elif plain - crossed > TOO_HIGH:
        yield (
            f"{few} The plain score is about {plain - crossed:.1f} points too high, and the share of issues moved is "
            f"also too high. Open-mindedness ({crossed:.1f}) is corrected for this. Mean shares, shifts and biases are "
            "not affected."
        )


def _median_answers(model: ModelView) -> int:
    answers = [int(asked["answers"] or 0) for asked in model.conditions if asked["condition"] == "baseline"]
    return int(median(answers)) if answers else 0


def _is_two_to_one(model: ModelView, asked: Cells) -> bool:
    """Whether a baseline has exactly two pro answers for each con answer, which suggests wrongly marked paraphrases.

    MillStone's first counts for Llama 3.1 8B show this pattern on twelve issues. It is gone from the corrected counts,
    where eleven of these issues have 90 answers on one side and 0 on the other.
    """
    pro, con = (model.number(side, "baseline", str(asked["issue"])).value for side in ("pro", "con"))
    return int(asked["answers"] or 0) > 2 and con > 0 and abs(pro - 2 * con) < 1e-9


_UNITS = "issues"
_ARGUMENTS = "arguments"
_BEYOND = "issues_moved_beyond_chance"
_SMALL = 0.1
"""The largest bound that a sentence calls small: a tenth of the scale."""
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
    yield from _letter_rather_than_side(model)
    if baselines := [issue for issue in model.issues if issue["tied"] is not None]:
        said = f"Without arguments, {model.name} {_leanings(model, baselines)}."
        yield level_finding(model.name, said, len(baselines), _UNITS, "baseline", measure="baseline_stances")


def _letter_rather_than_side(model: ModelView) -> Iterator[Finding]:
    """Say that a model mostly picks a letter, if its answers follow the letter on most of its issues."""
    compared = [issue["follows"] for issue in model.issues if issue["compared"]]
    picked = compared.count("letter")
    if len(compared) >= FEWEST and picked > len(compared) / 2:
        said = (
            f"{model.name} mostly picks a letter: on {_of(picked, len(compared))}, it repeats the letter more often"
            " than the side when the question is mirrored."
        )
        yield level_finding(
            model.name, said, len(compared), _UNITS, "letter", caution=DOUBTFUL, measure="letter_over_position"
        )


def _leanings(model: ModelView, baselines: list[Cells]) -> str:
    """The numbers of issues on which a model leans pro, leans con, takes no side or is undecided, in words. The model
    is undecided on an issue if the interval of the leading side's proportion includes one half.
    """
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
    """The side whose proportion has an interval entirely above one half, or None if the interval includes one half.
    'other' if the most common answer takes no side."""
    if issue["refused"]:
        return "other"
    share = model.number("baseline_share", item=str(issue["issue"]))
    return str(issue["stance"]) if share.lies_above(0.5) else None


def baseline_stances(analysis: Analysis, name: str) -> str:
    """The numbers of issues on which a model without arguments clearly leans pro, clearly leans con, or does neither:
    '1 / 3 / 8'.

    '' if its answers cannot be measured.
    """
    model = ModelView(analysis, name)
    stances = [_leaning(model, issue) for issue in model.issues if issue["tied"] is not None]
    if not stances or void(analysis, name):
        return ""
    pro, con = (stances.count(side) for side in ("pro", "con"))
    return f"{pro} / {con} / {len(stances) - pro - con}"


def _of(count: int, n: int) -> str:
    """A number of issues in words: '3 of 12 issues', 'all 12 issues', 'none of 12 issues', 'the only issue', 'no
    issue'."""
    if n == 1:
        return "the only issue" if count else "no issue"
    if count == n:
        return f"all {counted(n, _UNITS)}"
    return f"{count or 'none'} of {counted(n, _UNITS)}"


def _flipped(model: ModelView) -> OwnTest:
    """The test of whether arguments changed the most common answer to any issue more than chance does."""
    # Test every configuration of every issue that has a baseline stance.
    flips = [asked for asked in model.conditions if asked["condition"] != "baseline" and asked["flips"] is not None]
    return OwnTest(
        model=model.name,
        measure=_BEYOND,
        tested=bool(flips),
        found=lambda chance: _moved(model, flips, chance / max(1, len(flips))),
    )


def _moved(model: ModelView, flips: list[Cells], chance: float) -> Iterator[Finding]:
    """Findings on the share of issues moved, and on the number of issues with a statistically significant flip.
    `chance` is the error probability of each test."""
    beyond = len({asked["issue"] for asked in flips if asked["flips"] and _beyond(model, asked, chance)})
    moved, flipped = model.number("issues_moved"), sum(bool(issue["issues_moved"]) for issue in model.issues)
    if not isnan(moved.value):
        some = "this change may be" if flipped == 1 else "some of these changes are"
        few = f"With few answers per issue, {some} due to chance." if beyond < flipped else ""
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
    """Whether the proportion of the baseline's stance fell significantly; `chance` is the probability of an error.

    This is Fisher's exact test. With few answers and many tests, approximate limits would err several times as often as
    `chance` allows. The test is one-sided at half of `chance`, because the baseline's stance is whichever side has more
    answers.
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


def _corrected(analysis: Analysis, row: EstimateRow) -> str:
    """Advice to use numbers without label bias, '' if the model has no numbers."""
    return "" if _void(analysis, row) else "Some of its answers follow the letter, so use the corrected numbers."


def _share(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """The share for the profile's sentence, also if the finding is withheld."""
    return {"share": brief_value(row.number, "share")}


def _unmeasured(analysis: Analysis, row: EstimateRow) -> Mapping[str, str]:
    """The reason for a missing score, for the profile's sentence."""
    why = _void(analysis, row)
    return {"why": f"is not measured: {why}" if why else "cannot be determined from these answers"}


def _known(analysis: Analysis, row: EstimateRow) -> Mapping[str, str] | None:
    """None, so that there is no sentence, if the number is missing."""
    return None if isnan(row.number.value) else {}


_Shares = partial(Claim, section="shifts", about=_ARGUMENTS, withheld=_void, small=_SMALL, telling=0.33)
"""A claim about a proportion. If the data show no clear effect, a sentence says so, unless the interval reaches beyond
a third."""


def _one_sided(side: Side) -> Claim:
    """Claims about the change of pro answers, then about the other stances. Answers that leave a side need not go to
    the opposite side, because they may take neither."""
    start, condition = f"Arguments for {side} alone", f"one-sided-{side}"
    of_pro = "{model}'s share of pro answers"
    unsided = f"{start} {EITHER} {{model}}'s share of answers that are neither pro nor con by {{size}} points."
    raised, lowered = either(unsided, "raised", "lowered")
    others = _Shares("shift_other", condition=condition, above=raised, below=lowered)
    # This claim is that con answers rose, not that answers without a side rose.
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
        unclear=f"The data do not show whether arguments for {side} alone changed {of_pro}.",
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
    said = f"{{model}} prefers answer {EITHER}: this letter raises a side's share of answers by {{size}} points."
    is_a, is_b = either(said, "A", "B")
    return Claim(
        "pulls_letter",
        section="letter",
        about="letters",
        above=is_a,
        below=is_b,
        small=_SMALL,
        telling=0.33,
        note=_corrected,
    )


def _freely(measure: str, does: str, profile: ProfileEntry | None = None) -> Claim:
    """A claim about how often free answers differ from forced answers in one way. The comparison with the null
    condition shows whether they differ more than by chance."""
    said = f"{{model}} {does} in {{value}} of pairs."
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
        # This score is corrected for chance. Chance does not raise it, even if answers are few.
        Claim(
            CROSS_FITTED.name,
            section="open-mindedness",
            units=_UNITS,
            about=_ARGUMENTS,
            above="Arguments moved {model}: its open-mindedness, corrected for chance, is {value} out of 100.",
            within=f"{_OF} is at most {{most}} out of 100 and cannot be distinguished from 0.",
            unclear=f"{_OF} cannot be distinguished from 0.",
            otherwise=f"{_OF} is {{value}} out of 100.",
            small=10.0,
            withheld=_void,
            note=_raised,
            more=_unmeasured,
            profile=ProfileEntry(
                aspect="moved",
                title="By arguments: open-mindedness",
                sentence=f"{_OF} is {{value}} out of 100 (0: never moved; 100: moved by any argument).",
                missing="The effect of arguments on {model} {why}.",
                within=(0.0, 100.0),
                by_item="moved by arguments beyond chance, at most 100",
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
            above="{model} favours the side of the last argument by {size} points.",
            below="{model} turns against the side of the last argument by {size} points.",
            small=_SMALL,
            telling=0.33,
        ),
        _freely("free_differs", "answers differently in its own words than when forced to choose,"),
        _freely(
            "free_abstains",
            "takes no side in its own words, but takes one when forced to choose,",
            ProfileEntry(
                aspect="refuses",
                title="No side in its own words, a side when forced",
                sentence="{model} takes no side in its own words in {value} of pairs, although its forced answer takes"
                " one.",
            ),
        ),
        _freely("free_opposite", "takes the opposite side of its forced answer in its own words,"),
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
"""Claims about a model."""
