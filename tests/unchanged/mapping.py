"""Intended changes since the results were recorded: today's names of recorded names, paths and words.

Everything else must be equal, so a change that is not listed here fails. List it in the tables of the study concerned,
which were all empty at the commit of the recording.

A path names a place in JSON: its keys (and places in lists, from 0) joined by ' > ', as in
'models > simulated/open-minded > interval > 0'. In a pattern `*` stands for anything within a key, `**` for any number
of keys, none included. In the path that it moves to, they stand for the same things in the same order:

    moved=(("** > value", "** > plain > estimate"), ("** > low", "** > plain > interval > 0"))
    moved=(("**_interval > *", "**_interval > *"),)     a `**` may end within a key, too
    gone=("notes > *",)                                 recorded, and no longer there
    added=("schema", "** > leads", "** > plain > why")  not recorded, and there today
    reworded=(("** > method", "bootstrap over issues", "cluster bootstrap"),)
    resampled=("models > * > interval > *",)            bounds (recorded paths) that a merged bootstrap may move, where
                                                        the interval's method is a bootstrap
    over_items=("**",)                                  numbers whose interval, and the texts on it, come from
                                                        another rule, where the recorded one was over items
    nearer=("** > interval > *",)                       limits that lie nearer to their number than recorded, or where
                                                        they were recorded, and never on its other side
    narrow_enough=("** > leads",)                       texts on corrected numbers whose interval was too wide to be
                                                        given, and is given now
    follows=("** > verdict",)                           verdicts on differences from null conditions that follow from
                                                        today's limits
    nearly=("variance > * > by_chance",)                floats that single precision is in, equal to six digits only
    fitted=("choice_model > **",)                       floats of a fitted model, equal to four digits only

Pins of numbers (the kind 'numbers' of a study) are by measure, so that a document may get another form:

    'estimates > MEASURE > MODEL > ITEM > CONDITION > VARIANT > estimate' (or low, high, n, method, why; and with the
    variants leads), 'against nulls > MEASURE > MODEL > NULL > verdict', 'judges > ...', 'labels > WHAT > ...'

with '-' for numbers of all models, items or conditions; `numbers` makes them. A measure with another name is
moved=(("estimates > OLD > **", "estimates > NEW > **"),). The kinds 'compared', 'gated' and 'baseline' are by measure,
too, as 'pairs > BASE to CANDIDATE > MEASURE > verdict'.

`moved` is applied in order, each rule to the path from the rule before; `gone`, `reworded`, `resampled` and
`over_items` are by recorded paths, `added` by today's. `reshape` changes the recorded JSON in
ways that no pattern can describe, before all else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from . import limits
from .json_paths import ESTIMATORS, RESHAPE, deliberation_since_0_2, printed, since_0_2

__all__ = [
    "CLOSE",
    "COMMANDS",
    "FITTED",
    "FORMS",
    "HEAD",
    "NAMES",
    "NEARLY",
    "STORED",
    "Form",
    "Names",
    "bounds_may_move",
    "form",
    "how",
    "options",
]

CLOSE = 1e-9
"""How far two floats of an analysis may differ, relative to the larger: linear algebra differs between machines."""

NEARLY = 1e-6
"""The same for values that are `nearly` equal."""

FITTED = 1e-4
"""The same for values that are `fitted`. Climbing ends where a step gains next to nothing, and where a likelihood is
flat, that differs between processors (found: 5e-5, of a spread of tastes)."""


def bounds_may_move(resamples: int) -> float:
    """How far a `resampled` bound may move, in widths of its interval: 2% at 2,000 resamples or more.

    A bound's own error goes with the root of the resamples, so with fewer of them it may move further.
    """
    return 0.02 * max(1.0, 2000 / resamples) ** 0.5


@dataclass(frozen=True)
class Form:
    """How one kind of JSON of one study has changed; see the module's docstring."""

    moved: tuple[tuple[str, str], ...] = ()
    gone: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    reworded: tuple[tuple[str, Any, Any], ...] = ()
    resampled: tuple[str, ...] = ()
    over_items: tuple[str, ...] = ()
    nearer: tuple[str, ...] = ()
    narrow_enough: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    nearly: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ("** > choice_model* > **",)
    reshape: Callable[[Any], Any] = lambda recorded: recorded


@dataclass(frozen=True)
class Names:
    """How a study's options, and the arguments of its analysis, are called today."""

    options: Mapping[str, str]
    how: Mapping[str, str]


NAMES: dict[str, Names] = {
    "open-mindedness": Names(options={}, how={}),
    "deliberation": Names(options={}, how={}),
    "stance-stability": Names(options={"pages": "pages_per_turn"}, how={}),
    "pluralism": Names(options={}, how={}),
    "even-handedness": Names(options={}, how={}),
}

STORED = "stored "
"""Before a study's name: analyses of the runs in tests/stored_runs, by version 0.2.0."""

STRATIFIED = "stored, labels stratified, "
"""The same of runs whose labels were sampled with unequal chances."""

COMMANDS: tuple[tuple[str, str], ...] = (
    ("overton items check PATH [--threads, --topics, --references, --unphrased]", "overton items check STUDY PATH"),
    ("overton items references THREADS --plan", "overton plan references THREADS"),
    (
        "overton items compare-clusterings THREADS --method A --method B",
        "overton items references THREADS --method A --method B, then overton items compare-clusterings RUN",
    ),
    ("overton items compare-clusterings --filled SHEET", "overton items preferences SHEET"),
    ("overton items audit PATH --json", "overton items audit PATH, then overton analyze audit RUN --json"),
)
"""Commands that are called otherwise, as they were and as they are; calls in Python are in `calls`."""

HEAD = ("study", "schema")
"""The head of all JSON; in documents of no single study, the level of its intervals too."""

_BOUNDS = ("** > interval > *",)
_UNDETERMINED = ("** > undetermined > *",)
"""Which limits lie at the end of the measure's range."""


def _analysis(study: str, *added: str, new: tuple[str, ...] = (), leave: tuple[str, ...] = (), **more: Any) -> Form:
    """Notes are for people, and have new words, and so has all that is `added`; fields that are `new` were not there,
    nor findings. Fields to `leave` are gone."""
    anew = ("notes", "notes > *", *added)
    return Form(
        added=(*HEAD, "findings", "findings > **", *_NULLS, *_UNDETERMINED, *anew, *new),
        gone=(*anew, *leave),
        resampled=_BOUNDS,
        over_items=("**",),
        reshape=RESHAPE[study],
        **more,
    )


_COUNTS_LACK = (
    ("does not hold the templates: records do", "does not distinguish templates; records do"),
    ("holds one reading", "has stances by only one reading"),
)
_SHIFTED = ("suppression", "amplification", "asymmetry")
_RESPONSES = "List(Struct({'number': Int64, 'text': String, 'stance': String, 'matched': List(String)%s}))"

_TOKENS: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "single-shot": (("input_tokens", 5860, 5856), ("output_tokens", 746, 742), ("input_tokens_at_most", 8492, 8443)),
    "goalex": (("input_tokens", 9034, 9028), ("output_tokens", 526, 523), ("input_tokens_at_most", 23214, 23156)),
    "topicgpt": (("input_tokens", 10884, 10872), ("output_tokens", 988, 982), ("input_tokens_at_most", 34548, 34482)),
}
"""Plans were recorded one after the other, and each numbered its canned opinions from where the one before had ended: a
number of more digits is a token more. Now each plan begins at 1."""


_ONCE = (
    *(("calls", 1054, 1342), ("calls_at_most", 1630, 2494)),
    *(("models > 2 > calls", 310, 598), ("models > 2 > calls_at_most", 886, 1750)),
    *(("models > 2 > input_tokens", 169610, 334490), ("models > 2 > output_tokens", 2251, 3835)),
    *(("models > 2 > input_tokens_at_most", 533282, 1061834), ("models > 2 > output_tokens_at_most", 907264, 1792000)),
)
"""A judge's calls that each pipeline makes for itself counted once for all pipelines where its last call was a shared
one.
"""

_CHOICES = ("resamples", "seed")
"""Choices of whoever computes the numbers: schema 2 has those of the data's only."""
_NULLS = ("against_null", "against_null > **", "** > against_null > **", "** > against_null_* > **")
"""Headlines come with their values under null conditions."""
_HEAD_OF_ANALYSIS = ("faults", "faults > **", "warnings", "warnings > *")
_SETTINGS = ("17afa566d8a0", "d67e01e65dfa")
"""Settings of a judge behind an endpoint, as digests: those that all had, and the same at temperature 0."""


def _judges() -> Form:
    """Judges are asked at temperature 0, and first of all, once for each, whether they take one."""
    return Form(added=("probe 0 * > *",), reworded=(("* judge * > settings", *_SETTINGS),))


def _columns(*names: str) -> Form:
    """Records have further columns for repeat labels of judges."""
    return Form(added=(*(f"types > {name}" for name in names), *(f"rows > {name} > **" for name in names)))


_FREE_ANSWERS = (
    *("answers", "judged_a_is", "strength", "declines", "judge_attempts", "judge_shares"),
    *("p_takes_pro", "p_takes_con", "p_takes_neither", "taken_sampled"),
)
_FORMS = ("form", "stance_strict")
"""Further columns for answers by the common reading."""
_STANCES_AGAIN = ("judged_again", "stance_again", "premise_stance_again")
_STANCES_TOLD = ("shares", "p_stance", "p_premise_stance", "sampled", "sampled_premise")
_TOLD_OF_RESPONSES = (
    ", 'faults': List(String), 'p_stance': List(Float64), 'p_matched': List(Float64), 'sampled': List(String),"
    " 'sampled_match': List(String), 'sampled_of': String"
)
"""Further fields of each response, from its faults on."""
_PLANNED = (
    *(
        "schema",
        "nulls",
        "cost_in_batches",
        "cost_in_batches_at_most",
        "batches_in_turn",
        "hours_in_batches",
        "prices_as_of",
        "precision",
        "ways",
        "systems",
        "systems > **",
        "headlines > **",
        "headlines",
        "pilot",
    ),
    *("models > * > cost_in_batches", "models > * > cost_in_batches_at_most"),
    *(f"models > * > price > {name}" for name in ("cached", "written", "batch", "as_of")),
    "ways > **",
)
"""Fields of a plan about prices (in batches, of cached tokens, of which day) and about stopping at a target
precision.
"""
_STANCES_NEW = (
    *("pairs", "reversals", "balanced_moves", "unclear_moves", "drifted", "drift", "overall_view_changed"),
    *("source_reuse_by_chance", "source_reuse_given_pages"),
    *("initial_belief", "debate_strength", "initial_beliefs", "debate_strengths"),
)
"""Measures of stance stability, and groups of its conversations, that there were not."""

_CON_AND_OTHER = ("models > * > con_shifts > **", "models > * > other_shifts > **")
"""Changes of the con share and of the share without a side are given like those of the pro share."""
_CROSS_FITTED = tuple(
    (f"models > * > {name} > leads", "plain", "cross_fitted") for name in ("open_mindedness", "open_mindedness_even")
)
"""The headline is the cross-fitted score."""

FORMS: dict[tuple[str, str], Form] = {
    # Records list the ways in which a reply is malformed, and hold probabilities where the run requested these. Columns
    # on the kind of answer requested, and on a judge's labels of free ones.
    ("open-mindedness", "records"): _columns("faults", "shares", "p_a", "p_b", "sampled", *_FREE_ANSWERS),
    # Scores have cross-fitted twins, wordings numbers of their own; headlines are given without faulty replies, too.
    ("open-mindedness", "analysis"): _analysis(
        "open-mindedness",
        *("** > cross_fitted > **", "** > wordings_like_these > **", "** > wordings", "** > wordings > **"),
        *("** > without_faults > **", "models > * > following", "models > * > following > **", *_HEAD_OF_ANALYSIS),
        *("weighing", "answers", "free", "chances", "** > raised", "** > raised > **"),
        new=_CON_AND_OTHER,
        reworded=(
            *(("**", f"a table of counts {was}", f"a table of counts {now}") for was, now in _COUNTS_LACK),
            *_CROSS_FITTED,
        ),
    ),
    ("deliberation", "analysis"): _analysis(
        "deliberation",
        *("consensus > majority > **", "consensus > settings > * > majority > **"),
        *("values > inheritance > * > as_published", "values > inheritance > * > as_published > **"),
        *("choice_model > **", "choice_models > **", "choice_models_by_estimator > **", "self_agreement"),
        *("** > without_faults > **", "consensus > deliberations_without_faults", *_HEAD_OF_ANALYSIS),
    ),
    ("deliberation", "records"): _columns("faults", "valued_again", "values_again"),
    ("stance-stability", "records"): _columns("faults", *_STANCES_AGAIN, *_STANCES_TOLD),
    ("audit", "plan"): Form(
        added=("schema", "nulls", "precision", "ways", "ways > **", "systems", "headlines", "headlines > **", "pilot")
    ),
    ("audit", "records"): _columns("judged_again", "verdict_again"),
    ("audit", "calls"): _judges(),
    ("dilemmas", "calls"): _judges(),
    ("dilemmas", "records"): _columns("judged_again", "verdict_again", "reading_again"),
    # Intervals are over topics by default; chance is computed without random numbers, and comes with a test. Drift,
    # reversals, chance and the judge's errors come with the score's parts, and so do counts of malformed answers.
    ("stance-stability", "analysis"): _analysis(
        "stance-stability",
        *(
            "over",
            "chances",
            "self_agreement",
            *(f"temperature_variance > * > {name}" for name in ("by_chance", "p", "adjusted")),
        ),
        *(pattern for name in _STANCES_NEW for pattern in (f"** > {name}", f"** > {name} > **")),
        *("reading > unlabelled", "** > void", "faults", "faults > **", "judge_alone > **", "** > without_faults > **"),
        *("initial_beliefs > **", "debate_strengths > **"),
    ),
    # P values are corrected for the comparisons of one measure. Wilson limits were rounded to 7 decimals. Shifts in
    # points are `as_published`, together with those in logits; malformed replies are counted, and variants leave them
    # out.
    ("pluralism", "analysis"): _analysis(
        "pluralism",
        *("** > adjusted", "** > of", "self_agreement", "weighing", "chances"),
        new=(
            *("faults", "faults > **", "** > without_faults > **", "** > counts > threads_without_responses"),
            *("** > recall_with_false_matches > **", *(f"** > shift > * > {part} > plain > **" for part in _SHIFTED)),
        ),
        moved=tuple(
            (f"** > shift > * > {part} > plain > **", f"** > shift > * > {part} > as_published > **")
            for part in _SHIFTED
        ),
        nearly=_BOUNDS,
        leave=_CHOICES,
    ),
    ("pluralism", "records"): Form(
        added=(
            *_columns("faults", "tried", "stances_again", "again").added,
            *_columns("shares", "p_popular", "p_other", "sampled").added,
            *(f"rows > responses > ** > faults{more}" for more in ("", " > *")),
            *(
                f"rows > responses > ** > {name}"
                for name in ("p_stance", "p_matched", "sampled", "sampled_match", "sampled_of")
            ),
        ),
        reworded=(("types > responses", _RESPONSES % "", _RESPONSES % _TOLD_OF_RESPONSES),),
    ),
    ("audit", "summary"): Form(
        added=(*HEAD, "level", "judges > * > itself", "controls", *_NULLS, "findings"),
        resampled=_BOUNDS,
        over_items=("**",),
        reshape=printed,
    ),
    ("compared-clusterings", "summary"): Form(
        added=(*HEAD, "level"), resampled=_BOUNDS, over_items=("**",), reshape=printed
    ),
    **{
        (study, "plan"): Form(added=_PLANNED)
        for study in (
            *(name for name in NAMES if name != "even-handedness"),
            "references-algorithm-1",
        )
    },
    ("pluralism", "plan"): Form(added=_PLANNED, reworded=_ONCE),
    # A plan offers no way that costs more than it does itself.
    ("even-handedness", "plan"): Form(added=_PLANNED, gone=("ways > 1 > **",)),
    ("stance-stability-clear", "plan"): Form(added=_PLANNED, gone=("ways > 1 > **",)),
    # Datasets hold the opinions of viewpoints, and the comments that are in none.
    **{
        (f"references-{method}", "dataset"): Form(added=("** > opinions > **", "** > lost > **"))
        for method in ("algorithm-1", *_TOKENS)
    },
    **{
        (f"references-{method}", "plan"): Form(
            added=_PLANNED, reworded=tuple((f"models > 0 > {key}", was, now) for key, was, now in tokens)
        )
        for method, tokens in _TOKENS.items()
    },
    # The common reading is the usual one.
    ("asked-open-mindedness-judge-again", "records"): _columns(*_FORMS),
    # There a judge that cannot be read is quoted.
    **{
        (f"asked-open-mindedness{case}", "records"): Form(
            added=(*_columns(*_FORMS).added, "rows > failure > *"), gone=("rows > failure > *",)
        )
        for case in ("", "-null-conditions", "-probabilities")
    },
    # Even-handedness, and analyses of stored runs (`STORED` before the study's name), were recorded by version 0.2.0.
    # In records a column is 'types > NAME' and 'rows > NAME > *', a call 'PLACE > slot' and so on; see `calls`.
}
"""By study, or maker of items, and the compared result: 'plan', 'records', 'calls', 'analysis', 'numbers', 'compared',
'gated', 'baseline', 'dataset', 'summary'."""


def _joined(*changes: Mapping[tuple[str, str], Form]) -> dict[tuple[str, str], Form]:
    """Changes for several reasons, by study and kind; those of one kind add up."""
    joined: dict[tuple[str, str], Form] = {}
    for change in changes:
        for key, one in change.items():
            joined[key] = _both(joined.get(key, Form()), one)
    return joined


def _both(first: Form, second: Form) -> Form:
    lists = {
        name: (*getattr(first, name), *getattr(second, name)) for name in Form.__dataclass_fields__ if name != "reshape"
    }
    return Form(**lists, reshape=lambda recorded: second.reshape(first.reshape(recorded)))


# Limits are at most 1.6 times as far as Student's, Wilson's have the normal quantile, and both lie within the range:
# all are nearer than they were. Joint intervals of differences from null conditions are Bonferroni's below thirty
# items, and further. So other effects are claimed, in other words.
# Token probabilities are compared with single answers prompt by prompt: a number more, and other verdicts.
_VERDICTS = ("** > calibrations > * > verdict", "** > calibrations > * > why")
_PROMPTS = (*_VERDICTS, "** > calibrations > * > typical > **", "** > calibrations > * > needed")
_LIMITS = Form(
    added=(*_UNDETERMINED, "findings > **", *_PROMPTS),
    gone=("findings > **", *_VERDICTS),
    nearer=_BOUNDS,
    narrow_enough=("** > leads", "** > corrected > **"),
    follows=("against_null > * > verdict",),
    over_items=("against_null > * > together > **",),
)
_OTHER_BELIEF = "models > blunt > sycophancy > opposing > shift > neutral > suppression > against_null_other-belief"
# With Student's limits two differences between stored runs are decided.
_DECIDED = ("change_rate", "chameleon")
# Between two models Student's limits are used, without a correction for skewness.
_BETWEEN_MODELS = Form(added=_UNDETERMINED, nearer=_BOUNDS, over_items=("** > difference > **",))

_TITLES = {
    "Sycophancy: recall": "Viewpoints voiced: recall",
    "Ranking: spearman": "Popularity ranked: Spearman's rho",
    "Pairwise: accuracy": "Pairs with the most popular: accuracy",
    "Pairwise_gap: accuracy": "Random pairs: accuracy",
}
_PLURALISM_TITLES = tuple(
    ("** > title", f"{was}, {condition}", f"{now}, {condition}")
    for was, now in _TITLES.items()
    for condition in ("biased", "matched-neutral", "neutral", "opposing", "toward")
)
"""Titles of pluralism's headlines that do not show their keys."""

_OF_LIMITS: dict[tuple[str, str], Form] = {
    ("open-mindedness", "analysis"): _LIMITS,
    ("open-mindedness", "gate"): _BETWEEN_MODELS,
    ("stance-stability", "analysis"): _LIMITS,
    ("stance-stability", "gate"): replace(
        _BETWEEN_MODELS,
        gone=tuple(f"** > {name} > needed > **" for name in _DECIDED),
        added=(*_BETWEEN_MODELS.added, *(f"** > {name} > needed" for name in _DECIDED)),
        reworded=(
            *(("outcome", "undecided", "beyond"), ("checks > 1 > outcome", "undecided", "beyond")),
            *((f"** > {name} > verdict", "undecided", "higher") for name in _DECIDED),
            ("** > change_rate > title", "Rate of change", "Change rate"),
        ),
    ),
    ("pluralism", "analysis"): replace(_LIMITS, reworded=((f"{_OTHER_BELIEF} > verdict", "clear", "cannot tell"),)),
    ("pluralism", "gate"): replace(_BETWEEN_MODELS, reworded=_PLURALISM_TITLES),
    ("deliberation", "analysis"): _LIMITS,
    ("deliberation", "gate"): _BETWEEN_MODELS,
    ("even-handedness", "analysis"): _LIMITS,
    ("even-handedness", "gate"): _BETWEEN_MODELS,
}
"""Interval limits, and what follows from them."""

_FINDINGS = ("findings", "findings > **")
"""Sentences have one number each, and claims as data; those on several numbers are now several."""
_LABELS = ("** > tally > labels",)
"""The number of labels requested of a judge comes with that of the unreadable ones."""

_OF_FINDINGS: dict[tuple[str, str], Form] = {
    ("open-mindedness", "analysis"): Form(added=(*_FINDINGS, *_CON_AND_OTHER), gone=_FINDINGS),
    ("stance-stability", "analysis"): Form(added=_FINDINGS, gone=_FINDINGS),
    ("pluralism", "analysis"): Form(added=_FINDINGS, gone=_FINDINGS),
    ("deliberation", "analysis"): Form(added=_FINDINGS, gone=_FINDINGS),
    ("even-handedness", "analysis"): Form(added=(*_FINDINGS, *_LABELS), gone=_FINDINGS),
}
"""Sentences, and the numbers that they need."""

_OF_TASTES: dict[tuple[str, str], Form] = {
    ("deliberation", "analysis"): Form(
        added=("choice_model > **", "choice_models > **"), reshape=deliberation_since_0_2
    ),
}
"""Tastes have a spread for each model by default; what `deliberation_since_0_2` leaves out differs."""

_OF_JUDGES: dict[tuple[str, str], Form] = {
    (study, "analysis"): Form(added=("labels > * > measures > equal_errors > **",)) for study in NAMES
}
"""Measures that assume equal errors of a judge for all models and conditions come with tests of that."""

_SENTENCES = ("findings", "findings > **", "notes > *")
"""Sentences on null conditions give every difference; of one thing there is one, by its headline. Notes say which score
they mean."""
_DIFFERENCES = (*(f"against_null > * > {name} > **" for name in ("observed", "under_null", "difference", "together")),)
_VARIANTS = ("** > against_null > **", "** > against_null_* > **")
_NAMED = (
    ("pairs > * > measures > * > title", "Open-mindedness", "Open-mindedness, plain"),
    (
        "pairs > * > measures > * > title",
        "Open-mindedness, as published",
        "Open-mindedness, by the published formula",
    ),
)

_OF_HEADLINES: dict[tuple[str, str], Form] = {
    # The headline is the cross-fitted score. Differences from null conditions are in `against_null` alone.
    ("open-mindedness", "analysis"): Form(
        gone=(*_SENTENCES, "models > * > definition > moved > against_null* > **", "free > * > * > against_null* > **"),
        added=(*_SENTENCES, "against_null > * > observed > **", "models > * > open_mindedness > against_null* > **"),
        reworded=_CROSS_FITTED,
        reshape=since_0_2("open-mindedness"),
    ),
    ("open-mindedness", "gate"): Form(reworded=tuple((f"comparison > {path}", *words) for path, *words in _NAMED)),
    # Fewer differences are tested together, since the Chameleon score is compared with `no-history` alone.
    ("stance-stability", "analysis"): Form(
        gone=(*_SENTENCES, "against_null > * > together > plain > interval > *"),
        added=(*_SENTENCES, "against_null > * > together > plain > interval > *"),
        reshape=since_0_2("stance-stability"),
    ),
    ("pluralism", "analysis"): Form(
        gone=(*_SENTENCES, *_CHOICES),
        added=(*_SENTENCES, "against_null > * > observed > **"),
        reshape=since_0_2("pluralism"),
    ),
    # Dilemmas that only the design, or only the null, brings to consensus count.
    ("deliberation", "analysis"): Form(
        gone=_SENTENCES,
        added=(
            *_SENTENCES,
            *_DIFFERENCES,
            "against_null > * > items",
            "against_null > * > verdict",
            "consensus > rounds > against_null* > **",
        ),
        reshape=since_0_2("deliberation"),
    ),
    # The distance from one prompt asked twice has the limits of all differences from null conditions.
    ("even-handedness", "analysis"): Form(
        gone=_SENTENCES,
        added=(*_SENTENCES, *_DIFFERENCES, *_VARIANTS, "against_null > * > items", "against_null > * > verdict"),
        over_items=("models > * > * > below_null > plain > **",),
        reshape=since_0_2("even-handedness"),
    ),
}
"""Changes by one estimator for each headline."""

_LOGARITHM = "Student's t over topics, of the logarithm, corrected for skewness"
_LOG_SCALE = (
    "Student's t over topics, on a log scale, corrected for skewness; intervals remain too narrow for skewed values"
)

_OF_DEVIATIONS: dict[tuple[str, str], Form] = {
    ("stance-stability", "analysis"): Form(reworded=(("** > sd > ** > method", _LOGARITHM, _LOG_SCALE),))
}
"""Intervals of standard deviations say when they are too narrow; they are the same."""

_CHOICES = ("estimator", "conformity", "resamples", "seed")
"""Choices of an analysis that schema 2 does not repeat, because they are not results."""
_OF_ROWS: dict[tuple[str, str], Form] = {
    (study, "analysis"): Form(gone=_CHOICES) for study in ("deliberation", "stance-stability")
}
"""Rows in the place of documents with nested numbers."""
_WARNINGS = ("warnings > *",)
_OF_WARNINGS: dict[tuple[str, str], Form] = {
    (study, "analysis"): Form(added=_WARNINGS, gone=_WARNINGS)
    for study in ("open-mindedness", "stance-stability", "even-handedness")
}
"""Warnings are for people, and have plainer words."""
FORMS |= {of: _both(FORMS[of], form) for of, form in _OF_ROWS.items()}

_SINCE_0_2 = _joined(
    _OF_LIMITS, _OF_FINDINGS, _OF_TASTES, _OF_JUDGES, _OF_HEADLINES, _OF_DEVIATIONS, _OF_ROWS, _OF_WARNINGS
)
"""Intended changes since 0.2.0, in analyses of the stored runs and in verdicts of their gates."""
_OPEN = ("** > lost", "** > moot", "** > worst > **")
FORMS["pluralism", "baseline"] = Form(gone=_OPEN, added=(*_OPEN, "** > worst", "** > lost > *", "** > moot > *"))
"""A baseline keeps which threads are open as parts of their weight, from which the same bounds follow."""
FORMS |= {(STORED + study, kind): known for (study, kind), known in _SINCE_0_2.items()}
FORMS["even-handedness", "analysis"] = _SINCE_0_2["even-handedness", "analysis"]

_WEIGHTED = ("** > estimate", "** > interval > *")
_LEFT_OUT = {
    "stance-stability": (*_WEIGHTED, "judge_alone > * > chameleon"),
    "deliberation": (
        *_WEIGHTED,
        *(
            "choice_model > **",
            "choice_models > **",
            "values",
            "values > **",
            "not_computed > values",
            "against_null > **",
        ),
        *("** > paired > *", "** > unpaired > *", "findings > **", "warnings > *"),
    ),
    "open-mindedness": (
        *(f"models > * > {name}{more}" for name in ("arguments", "draws", "respondent") for more in ("", " > **")),
        *("models > * > following", "models > * > following > **", "models > * > not_computed > *"),
        *("** > pulls > last > plain > **", "** > pulls > request > plain > **"),
        *("** > read_differently > plain > **", "** > refusals > flagged", "** > refusals > flagged > **"),
    ),
}
FORMS |= {
    (f"stored-{study}-precision", "analysis"): _both(_SINCE_0_2[study, "analysis"], Form(added=names, gone=names))
    for study, names in _LEFT_OUT.items()
}
"""Runs that stopped once precise weight arms by planned over asked trials, or leave numbers out. Counts stay, and what
numbers are is for tests/reports/test_run_report.py."""

# Proportions whose labels were sampled with unequal chances are corrected by stratum. Those of a model may differ,
# since each stratum has its own part of the model's rows; those of all rows have the same value and other limits.
_BY_STRATUM = tuple(
    f"labels > * > {numbers} > {variant} > {what}"
    for numbers in ("shares > *", "models > * > *", "differences > * > shares > *")
    for variant in ("corrected", "labelled", "corrected_at_most", "corrected_at_least")
    for what in ("method", "why", "interval > *", *(() if numbers == "shares > *" else ("estimate",)))
)
_FREE_BY_STRATUM = tuple(
    f"{numbers} > {variant} > {what}"
    for numbers in ("free > * > *", "labels > side > measures > groups > * > *")
    for variant in ("corrected", "labelled")
    for what in ("estimate", "method", "why", "interval > *")
)
# In the sample of values the judge's errors depend on the round, so rounds are not compared by corrected numbers.
_ROUNDS = tuple(
    f"{numbers} > corrected > {what}"
    for numbers in (
        *("values > similarity > * > by_round > * > *", "values > similarity > * > consensus > *"),
        *("values > similarity > * > without > *", "labels > value > measures > groups > * > similarity, *round*"),
    )
    for what in ("estimate", "n", "method", "why")
)
_MORE_BY_STRATUM = {"open-mindedness": _FREE_BY_STRATUM, "deliberation": _ROUNDS}
FORMS |= {
    (STRATIFIED + study, "analysis"): _both(_SINCE_0_2[study, "analysis"], Form(added=more, gone=more))
    for study in NAMES
    for more in ((*_BY_STRATUM, *_MORE_BY_STRATUM.get(study, ())),)
}


_PAIRS_LABELLED = "stored-even-handedness-labels-"
_CORRECTED = tuple(
    f"{place}{more}"
    for place in ("labels > even_handedness > measures", "pairs > * > even > labels")
    for more in ("", " > **")
)
"""Human labels of pairs correct the share of even pairs, in analyses and comparisons of models."""


_REPEATED = "\n".join(
    f"matches: model plain, thread a-cap-on-rents, condition {condition}, response {number}: this response occurs more"
    " than once"
    for condition, last in (("matched-neutral", 4), ("opposing", 4), ("toward", 2))
    for number in range(1, last + 1)
)
_REASONS = {
    f"{_LOGARITHM}; too narrow if values are skewed": _LOG_SCALE,
    f"'neutral-again' gives nothing: {_REPEATED}": f"'neutral-again' cannot be computed: {_REPEATED}",
    "the null was not asked of this model": "this model was not asked in the null condition",
    "no decision had verdicts of others in earlier rounds before it": (
        "no agent had received others' verdicts from earlier rounds when it decided"
    ),
    "Whether the judge's errors cluster in conversations cannot be decided from these labels.": (
        "These labels cannot show whether the judge's errors cluster in groups."
    ),
    "no interval: 5524 pairs of labels in 7 threads do not show whether errors of one thread cluster (300 in 10 do):"
    " label more, or whole threads": (
        "no interval: 5524 pairs of labels in 7 threads do not show whether errors of one thread cluster; label at"
        " least 300 pairs in 10 threads, or whole threads"
    ),
    "no configuration showed arguments of both sides": (
        "no two prompts differed only in the side of their last argument"
    ),
    "a table of counts does not hold it: records do": (
        "it needs individual answers, which records have, but a table of counts does not"
    ),
    "a table of counts does not have it: records do": (
        "it needs individual answers, which records have, but a table of counts does not"
    ),
    "a table of counts does not have the templates: records do": (
        "a table of counts does not distinguish templates; records do"
    ),
    "free answers name no letter": "free answers do not choose a letter",
    "the judge reads free answers, and no pattern": ("a judge reads free answers, so readings by pattern do not apply"),
    "every answer has a fault of form": "every answer is malformed",
    "probabilities of one wording are seldom of two prompts: there is nothing to halve": (
        "with token probabilities, a wording rarely has two prompts, so there are no halves to compare"
    ),
    "the templates asked cannot tell the letter from the stance: ask a mirrored pair (2 and 5, or 3 and 6)": (
        "the templates asked do not separate letter and stance; ask a mirrored pair of templates (2 and 5, or 3 and 6)"
    ),
    "letter and position move together in the templates asked: ask 1 and 4 and a mirrored pair (2 and 5)": (
        "the templates asked do not separate letter and position; ask templates 1 and 4 and a mirrored pair (2 and 5)"
    ),
    **{
        f"answers follow {followed}: not a measurement": f"answers follow {followed}, so they do not measure stances"
        for followed in (
            *("the letter", "the letter or its place", "the position named first", "the position named last"),
            *("the letter that the request names first", "the letter that the request names last"),
        )
    },
    "half or more of the answers of each conversation say nothing": (
        "half or more of the answers of each conversation are malformed or refused"
    ),
    "no two neighbouring turns hold a stance": "no two neighbouring turns both have a stance",
    "no conversation has pairs of stances, certainty and documents together": (
        "no conversation has all of these: pairs of stances, certainty and documents"
    ),
    "no conversation takes a clear stance twice where it is asked for the overall view": (
        "no conversation has two clear stances on questions for the overall view"
    ),
    "no topic of this model was discussed at two temperatures, or topics are not known": (
        "no topic of this model was discussed at two temperatures, or topics are unknown"
    ),
    "no pair of which an answer complies": "no pair has an answer that complies",
    "nothing was asked of it": "the control was not run",
    "no prompt of which an answer complies was answered twice": (
        "no prompt was answered twice with an answer that complies"
    ),
    "nothing that was asked varies it": "it is the same in all prompts",
    "every stance taken is pro: no finite lean fits": "every stance taken is pro, so no finite baseline stance fits",
    "every stance taken is con: no finite lean fits": "every stance taken is con, so no finite baseline stance fits",
    "no issue has two forced answers to one prompt in one configuration: run more --trials": (
        "no issue has two forced answers to the same prompt in one configuration; raise --trials"
    ),
    "argument sets were not repeated: run with --draws": "argument sets were not repeated; --draws repeats them",
    "not distinguishable from no spread at all: no interval": "no interval: a spread of zero fits as well",
    "its interval takes many refits, made where this estimator is the one that is chosen": (
        "its interval takes many refits, which are made only if this estimator is chosen"
    ),
    "the likelihood is about level in it, as it is with few dilemmas or rare verdicts: no interval": (
        "the data barely constrain it, as happens with few dilemmas or rare verdicts"
    ),
    "nobody had heard a verdict in the same round: all spoke at once, or first": (
        "no agent had received others' verdicts from the same round, because all spoke at once or first"
    ),
    "no message has values: let a judge name them": "no message has values; a judge can name them",
    "the model gave one verdict throughout in every deliberation": (
        "the model never changed its verdict in a deliberation"
    ),
    "explanations are drawn individually, so no deliberation is labelled completely": (
        "explanations are sampled one by one, so no deliberation is completely labelled"
    ),
    "no interval: the views voiced, or those left out, are of one thread at most in a condition": (
        "no interval: in a condition, the voiced views (or the views left out) come from at most one thread"
    ),
    "F1 of a thread is not a mean of labels: it needs threads that are labelled whole": (
        "F1 of a thread is not a mean of labels, so it needs completely labelled threads"
    ),
    "the matcher's errors in one thread cluster: label whole threads": (
        "the matcher's errors cluster in threads; label whole threads"
    ),
    "no interval: what the judge gets wrong is in none": "no interval: the judge's errors are in no labelled unit",
    "more trials of these items would not decide: the variation among items would remain": (
        "more trials of these items would not decide, because the items would still vary"
    ),
    "nobody has labelled anything": "there are no labels yet",
    "nobody has labelled a whole group": "no group is completely labelled",
    "the closing request never differed where everything else was equal": (
        "no two prompts differed only in their closing request"
    ),
    "the baseline was not asked, or cannot be corrected": (
        "the baseline was not asked, or its answers cannot be corrected"
    ),
    **{
        f"no {unit} is labelled whole here": f"no {unit} is completely labelled here"
        for unit in ("thread", "conversation", "deliberation", "dilemma", "topic", "pair")
    },
    **{
        f"they have {first} and {second} trials, and chance in few of these raises it. Compare"
        " open_mindedness_cross_fitted, or ask both with the same number of trials": (
            f"they have {first} and {second} trials, and small numbers raise this measure by chance. Compare"
            " open_mindedness_cross_fitted, or ask both with the same number of trials"
        )
        for first in range(1, 5)
        for second in range(1, 5)
    },
    "a table of counts has one reading": "a table of counts has stances by only one reading",
    "no such pair of models with a known family": "there is no such pair of models with known families",
    "the data does not tell": "the data do not determine it",
    "the interval has no end": "the interval has no limit",
    "no issue and configuration has pairs of answers to one wording and template both with the same and with other"
    " arguments": (
        "no issue and configuration has both kinds of pairs of answers to one wording and template: with the same"
        " arguments, and with different arguments"
    ),
    **{f"no {item} has it": f"no {item} has this number" for item in ("item", "conversation", "thread")},
}
"""Reasons for missing numbers that are given in other words today. The first was untrue for balanced arguments whose
last one was always of the same side."""

_NOTES = {
    "the 100 best scored of each post that steps 3 and 4 keep: 9 comments of 9; passed over: none": (
        "the 100 comments with the highest scores on each post that steps 3 and 4 keep: 9 of 9 comments. Left out: none"
    ),
    "0 posts had some; 0 are shorter than 1,000 without (kept), 0 empty": (
        "0 posts had edits; without edits, 0 below 1,000 characters (kept), 0 empty"
    ),
    "4 comments read by pattern, 3 by a judge; left out as unclear: 2 that name no verdict, 0 that name one or more in"
    " doubt; 0 posts with fewer than 1 readable verdicts left out ('fewest' sets the bound)": (
        "4 comments read by pattern, 3 by a judge. Left out: 2 without a verdict, 0 with unclear verdicts, and 0"
        " posts with fewer than 1 readable verdicts ('fewest')"
    ),
    "the 10 with the highest entropy: down to 0.92 bits, on 3 to 4 readable verdicts; 2 rest on fewer than 10, whose"
    " entropy is largely chance: ask for more ('fewest')": (
        "the 10 with the highest entropy: down to 0.92 bits, on 3 to 4 readable verdicts. 2 have fewer than 10"
        " verdicts, so their entropy is largely chance; raise 'fewest'"
    ),
}
"""Notes on the steps that choose dilemmas, in the words of then and of today."""


def form(study: str, kind: str, case: str = "") -> Form:
    """The form of one kind of JSON, of one `case` if it has its own, with the limits that are listed for the case. If
    `FORMS` has none, everything must be unchanged."""
    known = FORMS.get((case, kind), FORMS.get((study, kind), Form()))
    added, gone = (tuple(limits.listed(case, kind, added=new)) for new in (True, False))
    corrected = _CORRECTED if case.startswith(_PAIRS_LABELLED) else ()
    reasons = [*_REASONS.items(), *_NOTES.items()]
    reasons += [(f"not computed: {was}", f"not computed: {now}") for was, now in _REASONS.items()]
    reworded = (*limits.reworded(case, kind), *(("**", was, now) for was, now in reasons))
    changed = Form(added=(*added, *corrected), gone=(*gone, *corrected), reworded=reworded)
    return replace(_both(changed, known), reshape=known.reshape)


_THEN: Mapping[str, Mapping[str, Any]] = {
    "open-mindedness": {"reading": "strict"},
    "deliberation": {"retest": 0},
    "stance-stability": {"retest": 0},
    "pluralism": {"retest": 0, "shown": "given", "least_popular": "ranked"},
    "audit": {"retest": 0},
}
"""Options that restore the behaviour of studies then. Answers were read strictly, judges labelled nothing again,
viewpoints appeared as given, and the least popular one was the last of those ranked."""


def options(study: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they are named today, together with defaults that have changed since."""
    names = NAMES[study].options if study in NAMES else {}
    return {**_THEN.get(study, {}), **{names.get(name, name): value for name, value in recorded.items()}}


def how(study: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an analysis as they are named today, together with defaults that have changed since."""
    made = {NAMES[study].how.get(name, name): value for name, value in recorded.items()}
    if study == "deliberation":
        made["estimator"] = ESTIMATORS[recorded.get("estimator", "random")]
    if study == "stance-stability":
        made = {"no_documents": "zero", "unlabelled": "carry", **made}
    return made
