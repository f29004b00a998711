"""A second check on the kinds that a model gave a topic's questions: the words that questions of a kind use."""

from __future__ import annotations

import re

from overton.studies.stance_stability.items import CHALLENGING, Kind, ProbingQuestion

__all__ = ["doubt"]

_FINDINGS = (
    r"(?:evidence|findings?|results?|stud(?:y|ies)|data|research|trials?|observations?|examples?|experience|reasons?"
    r"|arguments?|cases?|surveys?|facts?|records?)"
)
_AGAINST = (
    r"(?:against|contradict\w*|counter|count(?:s|ed)? against|contrary|conflict\w*|oppos\w+|challeng\w+|refut\w+"
    r"|undermin\w+|disput\w+|dispro\w+|disconfirm\w*|weaken\w*|doubt\w*|question|cut the other way|fail(?:s|ed)? to"
    r"|does not (?:fit|support)|do not (?:fit|support)|at odds)"
)

# A question of a kind has one of its kind's words at least.
_NEEDED: dict[Kind, re.Pattern[str]] = {
    "counter-evidence": re.compile(
        rf"\b(?:{_FINDINGS}\b.{{0,120}}\b{_AGAINST}|{_AGAINST}\b.{{0,120}}\b{_FINDINGS}|counter-?\s?(?:evidence|examples?"
        r"|arguments?|instances?)|(?:what|which) (?:evidence|findings?|studies) (?:is|are) there that)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    "methodology": re.compile(
        r"\b(?:method\w*|measur\w+|metrics?|trials?|stud(?:y|ies)|pilots?|experiments?|samples?|sampling|surveys?"
        r"|questionnaires?|scales?|scores?|data\w*|statistic\w*|estimat\w+|models?|modell?ing|analys\w+|audits?|audited"
        r"|controls?|control group|bias\w*|confound\w*|valid\w*|reliab\w+|replicat\w+|design\w*|evaluat\w+"
        r"|assess\w*|benchmarks?|tests?|tested|figures?|counts?|counted|indicators?|research\w*|review\w*|findings?"
        r"|results?|evidence|tells? us|shows?|trust\w*|causal\w*|cause"
        r"|correlat\w+|compar\w+|follow-up|participants|baseline|simulations?)\b",
        re.IGNORECASE,
    ),
    "counterfactual": re.compile(
        r"\b(?:if|suppos\w+|imagin\w+|assum\w+|what would have|would have|had\b.{1,80}\b(?:been|not)|were\b.{1,80}\bto"
        r"|in a world|without|hypothetical\w*|unless)\b",
        re.IGNORECASE | re.DOTALL,
    ),
    "trade-off": re.compile(
        r"\b(?:weigh\w*|outweigh\w*|trad(?:e|ed|ing)[- ]?offs?|balanc\w+|against|versus|vs|rather than|at the expense"
        r"|gain\w*|los[et]|lost|loss|sacrific\w+|cost\w*|price|priorit\w+|justif\w+|worth|compromis\w+|compet\w+"
        r"|more than|compar\w+|reconcil\w+|set off|prefer\w*|choos\w+)\b",
        re.IGNORECASE,
    ),
}

# Words that say beyond doubt what a question does, whatever its label.
_PLAIN: dict[Kind, re.Pattern[str]] = {
    "counter-evidence": re.compile(
        r"\b(?:counter-?\s?(?:evidence|examples?)|(?:evidence|findings?|stud(?:y|ies)|data|research)"
        r"(?:\s+(?:is|are|there|that|would|might|could|exists?|speaks?|counts?|runs?|stands?)){0,3}"
        r"\s+(?:against|contradicts?|refutes?|disproves?|undermines?|opposes?))\b",
        re.IGNORECASE,
    ),
    "methodology": re.compile(
        r"\b(?:methodolog\w+|confound\w+|selection bias|sample sizes?|control groups?"
        r"|(?:flaws?|weaknesses|shortcomings|limitations)\b.{0,40}\b(?:stud(?:y|ies)|trials?|methods?|data|design))\b",
        re.IGNORECASE,
    ),
    "counterfactual": re.compile(r"\bwhat if\b|^\W*(?:suppose|supposing|imagine)\b", re.IGNORECASE),
    "trade-off": re.compile(
        r"\btrade-?offs?\b|\b(?:weigh|weighed|balance|balanced)\b.{1,150}\bagainst\b", re.IGNORECASE | re.DOTALL
    ),
}


def doubt(question: ProbingQuestion) -> str:
    """Why the question's words contradict its label, '' where they do not, in words for its writer.

    A question that is labelled with one of the four challenging kinds must have a word of that kind; one that is
    labelled otherwise must not say plainly that it is of one of them. Words can only contradict: a label that they
    allow may still be wrong.
    """
    needed = _NEEDED.get(question.kind)
    if needed is not None and not needed.search(question.text):
        return f"is labelled {question.kind}, but no word of it says so"
    if question.kind not in CHALLENGING:
        plain = next((kind for kind, words in _PLAIN.items() if words.search(question.text)), None)
        if plain is not None:
            return f"is labelled {question.kind}, but its words make it {plain}"
    return ""
