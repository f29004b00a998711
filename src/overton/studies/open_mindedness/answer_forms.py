"""The forms in which models name a position, A or B, and which letters in an answer count as decisions.

Both letters are treated in the same way: if A and B are exchanged in an answer, the result is the other letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from overton.studies.open_mindedness.record import LetterForm

# Characters that may surround a letter. Emphasis marks have already been removed from the text.
_OPEN = r"[\s\"'“”„‘’«»‹›(\[{<]*+"
_CLOSE = r"[\"'“”‘’«»‹›)\]}>]*+"
_NOUN = (
    r"(?:(?:the|la|le|el|die|der|den|l['’])\s*)?+"
    r"(?:(?:(?:answer|argument|side|statement|stance|view|viewpoint|choice|claim|alternative|letter)"
    r"|positions?|options?|antwort|aussage|standpunkt|variante|réponse|opción|posición|respuesta|opzione|posizione"
    r"|risposta|opção|posição|resposta|optie|standpunt|stelling|вариант|позици[яю]|选项|立场|選項|立場)\b[\s:#]*+)?+"
)
_AND = r"(?:/|&|\+|,|\band\b|\bor\b|\bund\b|\boder\b|\bet\b|\bou\b|\by\b|\bo\b|\be\b|\bnor\b|\bnoch\b|\bni\b|和|或|与)"
_L = r"(?<![A-Za-zÀ-ž0-9'’])(?P<letter>[AB])(?![A-Za-zÀ-ž0-9'’_+#]|-\w)"
_X = rf"{_OPEN}(?i:{_NOUN}){_OPEN}{_L}{_CLOSE}"
_END = r"[\s.!,;:)\]}>\"'”’»]*+(?:\n|\Z)"

_AFTER = (
    "is|was|are|as|because|since|for|over|rather|instead|and|but|with|in|on|by|from|at|when|that|which|who|than|to|it|i"
    "|given|due|although|though|while|if|would|could|should|can|will|seems?|appears?|looks?|sounds?|feels?|makes?|has"
    "|have|wins?|offers?|provides?|presents?|holds?|better|more|most|here|overall|so|therefore|also|this|these|the|my"
    "|based|considering|not|out|of|versus|vs|against|under|or|nor|weil|da|denn|ist|aber|und|oder|nicht|für|zu|zuzustimmen"
    "|wählen|wähle|entscheiden|überzeugt|überzeugender|scheint|car|parce|est|puisque|mais|et|ou|pas|semble|me|porque|es"
    "|ya|pues|pero|y|o|no|parece|perché|è|e|ma|pois|mas|omdat|want|en|maar"
)
_GOES_ON = rf"(?![^\S\n]+(?!(?i:{_AFTER})\b)[^\W\d_])"
"""A lookahead that rejects a letter before an ordinary word, as in 'A good answer' or 'B vitamins'."""

_BE = (
    r"(?:is|was|would\s+be|remains|seems|appears|looks|sounds|feels|ist|wäre|scheint|est|serait|semble|es|sería|parece)"
)
_GOOD = (
    r"(?:(?:the|my|a|an|to\s+be|much|far|clearly|slightly|somewhat|overall|generally|significantly|also|me|mir|la|le"
    r"|el|die|der|das|plus|más|[a-zé]+ly)\s+)*+"
    r"(?:better|best|stronger|strongest|correct|right|preferable|preferred|superior|sounder|convincing|persuasive"
    r"|compelling|reasonable|(?:more|most)\s+(?!problematic|dangerous|flawed|doubtful|controversial|extreme|risky)\w+"
    r"|answer|choice|one|winner|pick|true|richtig|besser|überzeugender|stärker|meilleure?|préférable|preferible|correcte|convaincante?"
    r"|mejor|correcta|convincente|fuerte)\b"
)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|without|against|reject\w*|oppos\w*|disagree\w*|dismiss\w*|refus\w*|declin\w*"
    r"|instead\s+of|rather\s+than|other\s+than|unlike|over|than|versus|vs|except|avoid\w*|nicht|kein\w*|weder|noch"
    r"|gegen|statt|lehne|als|pas|ni|contre|plutôt\s+que|rejette|no|contra|rechazo|non|contro|não|niet|geen|tegen)\b\.?"
    r"|n['’]t\b|不)[^.!?\n,;:]{0,30}\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"[^.!?\n,;]{0,24}?(?:\b(?:not|nicht|wrong|false|incorrect|mistaken|weaker|worse|flawed|unconvincing|falsch|falsche"
    r"|schwächer|problematisch|pas|fausse|faux|incorrecta|falsa|errónea|ab)\b|n['’]t\b)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|assuming|when|should|could|might|may|can|between|either|both|wenn|falls|ob"
    r"|könnte\w*|si|peut|podría|choose\s+from|entre|zwischen)\b[^.!?\n,;:]{0,40}\Z",
    re.IGNORECASE,
)
_HAD_TO_CHOOSE = re.compile(r"\bif\s+(?:forced|pressed|i\s+(?:had|have|must|were))\b[^.!?\n]*\Z", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:some|many|most|others|people|critics|proponents|supporters|opponents|advocates|those|experts|they|he|she"
    r"|you|readers|participants|arguments?\s+for|case\s+for|manche|viele|einige|andere|kritiker|befürworter"
    r"|certains|beaucoup|algunos|muchos|otros|quienes)\b",
    re.IGNORECASE,
)
_DECLINES = re.compile(
    r"\b(?:(?:can(?:no|['’])t|won['’]?t|do(?:n['’]t|\s+not)|unable|refuse|decline|will\s+not|would\s+rather\s+not"
    r"|prefer\s+not)\b[^.!?\n]{0,40}\b(?:side|sides|position|stance|opinions?|choose|pick|answer|say|decide|have"
    r"|take|help|favou?r|endorse)|as\s+an\s+ai|language\s+model|neutral|impartial|both\s+(?:sides|positions|views)"
    r"|depends|no\s+(?:personal\s+)?(?:opinion|view|preference)|als\s+ki|sprachmodell|keine\s+(?:meinung|seite)"
    r"|en\s+tant\s+qu['’]ia|como\s+(?:una\s+)?ia|je\s+ne\s+peux\s+pas|no\s+puedo|kann\s+(?:ich\s+)?(?:mich\s+)?nicht)\b",
    re.IGNORECASE,
)

_KEY = (
    r"(?:final[_ ]?)?(?:answer|choice|position|stance|option|selection|response|verdict|decision|letter|side|antwort)"
)
_MARKED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"[\"']{_KEY}[\"']\s*:\s*[\"']\s*(?:(?:position|option|answer)\s*)?<*\s*(?P<letter>[AB])\s*>*\s*[\"']",
        r"\\boxed\s*\{\s*(?:\\(?:text|textbf|mathrm|mathbf|textrm)\s*\{)?\s*(?:(?:position|option|answer)\s*)?"
        r"[(<\s]*(?P<letter>[AB])[)>\s]*\}",
        rf"<({_KEY})>\s*(?:(?:position|option|answer)\s*)?<*\s*[(\[]?(?P<letter>[AB])[)\].]*\s*>*\s*</\1>",
    )
)
_REQUESTED = re.compile(r"<<\s*(?P<letter>[AB])\s*>>", re.IGNORECASE)
_ALONE = re.compile(r"\W*(?:1[.)]\W+)?(?P<letter>[AB])\W*", re.IGNORECASE)

_LABEL = (
    r"(?<![A-Za-zÀ-ž])(?:answer|choice|letter|selection|response|reply|decision|verdict|vote|pick|preference|conclusion|judge?ment"
    r"|position|stance|option|side|antwort|wahl|entscheidung|lösung|réponse|choix|respuesta|elección|posición|risposta"
    r"|scelta|resposta|escolha|antwoord|keuze|ответ|答案|回答|选择|選擇|立场|答え|정답|답)"
)
_ABOUT = r"(?:\s+(?:to|on|in|for|here|regarding|about)\b[^.!?:\n]{0,40}?|\s+correcta)?"
_SEP = (
    r"[\"'”’)\]]*\s*(?:(?:is|would\s+be|remains|ist|wäre|lautet|est|serait|es|sería|è|é|goes\s+(?:to|with)|falls\s+on|fällt\s+auf)\b"
    r"|:|=|->|=>|→|⇒|–|—|-|：|是|为|は|は、|은|는)\s*(?:that\s+of\s+|clearly\s+|:\s*)?"
)
_LABELLED = re.compile(rf"(?i:{_LABEL}{_ABOUT}{_SEP}){_X}{_GOES_ON}")
_LABELLED_SMALL = re.compile(rf"(?i:{_LABEL}{_SEP}){_OPEN}(?P<letter>[ab]){_CLOSE}[.\s]*(?:\n|\Z)")
_CONCLUDED = re.compile(
    r"(?i:\b(?:therefore|thus|hence|so|overall|in\s+conclusion|in\s+short|ultimately|daher|deshalb|darum|also|donc"
    r"|por\s+(?:lo\s+)?tanto|quindi|definitely|certainly|clearly|absolutely|probably|it['’]s|it\s+is|has\s+to\s+be"
    rf"|must\s+be)\b\s*[,:]?){_X}{_END}"
)
_NOT_OWN = re.compile(
    r"\b(?:your|their|his|her|its|other|another|wrong|incorrect|possible|opposite|opposing|alternative|one|example"
    r"|whose|no|either|any|every|each|this|that|format|valid|same|common|usual|typical|popular)\s+\Z",
    re.IGNORECASE,
)

_HOW = (
    r"(?:\s+(?:personally|strongly|firmly|slightly|therefore|thus|also|still|definitely|clearly|rather|most|more|fully"
    r"|largely|generally|now|inclined|leaning|going|to|would|will|must|have|had|do|am|just|simply|probably|likely|say"
    r"|that|lean|currently|ultimately|tend|only|with|eher|daher|deshalb|klar|mich|plutôt|donc|más))*"
)
_I = r"\b(?:I|we)(?:['’](?:d|ll|m|ve|re))?"
_VERBS = (
    r"(?:choose|chose|pick|picked|select|selected|go(?:ing)?\s+(?:with|for)|went\s+with|prefer|favou?r|support|back|vote"
    r"|agree|side|siding|lean(?:ing)?\s+towards?|leaning|lean|opt|endorse|answer|stand\s+with|take|defend|say|argue\s+for"
    r"|find|believe|think|consider|conclude\s+that)"
)
_CHOSEN = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:{_I}{_HOW}\s+{_VERBS}\b[^.!?\n,;:AB]{{0,25}}?){_X}{_GOES_ON}",
        r"(?i:\b(?:i|we)\s+(?:am|was)\s+(?:in\s+favou?r\s+of|for|with|on)\b[^.!?\n,;:AB]{0,12}?)"
        rf"{_X}{_GOES_ON}",
        r"(?i:\bich\s+(?:würde|halte|stimme|wähle|bevorzuge|unterstütze|befürworte|bin|tendiere|neige|entscheide"
        rf"|plädiere|finde|vertrete|nehme)\b[^.!?\n,;:AB]{{0,25}}?){_X}{_GOES_ON}",
        r"(?i:\bje\s+(?:choisis|choisirais|préfère|préférerais|soutiens|penche|opte|opterais|suis|vote|dirais|retiens"
        rf"|défends|prends)\b[^.!?\n,;:AB]{{0,25}}?){_X}{_GOES_ON}",
        r"(?i:\b(?:elijo|escojo|elegiría|escogería|prefiero|preferiría|apoyo|me\s+inclino|opto|optaría|voto|estoy"
        r"|me\s+quedo|selecciono|diría|scelgo|preferisco|concordo|escolho|prefiro|apoio|ik\s+kies|ik\s+zou\s+kiezen)\b"
        rf"[^.!?\n,;:AB]{{0,25}}?){_X}{_GOES_ON}",
        rf"我(?:选择|选|選擇|支持|同意|倾向于?|认为)\s*{_X}",
        rf"(?:\A|[.!?\n]\s*)(?i:(?:going|i'd go|let's go)\s+with){_X}{_GOES_ON}",
    )
)
_PREFERRED = (
    re.compile(
        rf"{_X}\s+(?i:{_BE}\s+{_GOOD}|makes\s+(?:more|most|better)\s+sense|wins\b|it\s+is\s*(?:[.!,;]|\Z)|convinces\s+me"
        r"|has\s+(?:the\s+)?(?:more|better|stronger|edge|upper|most)\b|überzeugt\s+mich|me\s+convence|me\s+convainc)"
    ),
    re.compile(rf"(?i:\bist){_X}\s+(?i:{_GOOD})"),
)
_COPULA = re.compile(rf"\s+(?i:{_BE})\b")
_GOOD_COPULA = re.compile(rf"\s+(?i:{_BE})\s+(?i:{_GOOD})")

_LEADING = re.compile(
    rf"\A[\s\"'“#>\-]*+(?i:{_NOUN})(?:[(\[]\s*(?P<bracketed>[AB])\s*[)\]]|{_OPEN}{_L}{_CLOSE}"
    r"(?:\s*(?:\Z|\n)|(?<=[)\]}])(?=\s)|[.):,;：、，。]+(?!\s?[A-Z]\.)(?=\s|\Z)|[。：，]|\s*[:(–—]|\s+-\s"
    r"|\s+(?i:because|since|as|weil|da|denn|car|parce|puisque|porque|ya\s+que|pues)\b))"
)
_CLOSING = re.compile(rf"\n\s*(?i:{_NOUN}){_OPEN}{_L}{_CLOSE}[.!]?\s*\Z")
_NAMED = re.compile(
    r"(?i:\b(?:position|option|answer|choice|side|statement|stance|view|standpunkt|aussage|antwort|variante|opción|posición"
    rf"|réponse|opzione|opção)\b[\s:#]*|选项|立场){_OPEN}{_L}{_CLOSE}(?!\s*\w|\s*[(:])"
)
_MENTION = re.compile(rf"{_L}{_GOES_ON}|<<\s*(?P<small>[ab])\s*>>")
_NOT = re.compile(r"\b(?:not|never|nicht|pas|no)\b|n['’]t\b", re.IGNORECASE)
_SENTENCE_ENDS = ".!?\n;"
_SENTENCE_END = re.compile(r"[.!?\n;]|\Z")
_CLOSING_MARKS = "\"'”’»)]}>"
_NEAR = 120
"""Overton searches this many characters before and after a letter for words about it."""

Naming = tuple[str, int]
"""A letter, and its index in the text."""


def find_letter(text: str) -> tuple[LetterForm, int | None]:
    """Return the form in which a text decides for a letter, and the letter's index in the text. Without a letter,
    return the reason and None.

    Thinking and emphasis marks must already be removed from the text.
    """
    if alone := _ALONE.fullmatch(text):
        return "alone", alone.start("letter")
    requested = list(_namings(text, (_REQUESTED,)))
    if len(_letters(requested)) == 1:
        return "requested", requested[0][1]
    decisions: dict[LetterForm, list[Naming]] = {
        "marked": [*_namings(text, _MARKED)],
        "labelled": [*_labelled(text)],
        "sentence": [*_sentences(text)],
        "leading": [*_ends(text)],
    }
    decided = _letters([naming for namings in decisions.values() for naming in namings])
    if len(decided) == 1:
        form, namings = next((form, namings) for form, namings in decisions.items() if namings)
        return form, namings[0][1]
    if decided:
        return "both", None
    mentioned = _mentioned(text)
    named = [*_named(text)] if len(mentioned) == 1 else []
    return ("named", named[0][1]) if named else ("both" if len(mentioned) == 2 else "none", None)


def _letters(namings: list[Naming]) -> set[str]:
    return {letter for letter, _ in namings}


def _mentioned(text: str) -> set[str]:
    """The letters that occur anywhere in a text as positions."""
    return {(match["letter"] or match["small"]).upper() for match in _MENTION.finditer(text)}


def _namings(text: str, patterns: tuple[re.Pattern[str], ...]) -> Iterator[Naming]:
    """Letters in the forms of `patterns`, except those that the text denies or joins with the other letter."""
    for pattern in patterns:
        for match in pattern.finditer(text):
            if not _is_doubted(text, match.start("letter"), match.end()):
                yield match["letter"].upper(), match.start("letter")


def _labelled(text: str) -> Iterator[Naming]:
    for pattern in (_LABELLED, _LABELLED_SMALL, _CONCLUDED):
        for match in pattern.finditer(text):
            if not _NOT_OWN.search(_just_before(text, match.start())) and _is_decision(text, match):
                yield match["letter"].upper(), match.start("letter")


def _sentences(text: str) -> Iterator[Naming]:
    for pattern in _CHOSEN:
        for match in pattern.finditer(text):
            if not _is_supposed(_just_before(text, match.start("letter"))) and _is_decision(text, match):
                yield match["letter"], match.start("letter")
    for pattern in _PREFERRED:
        for match in pattern.finditer(text):
            if _is_preferred(text, match):
                yield match["letter"], match.start("letter")


def _ends(text: str) -> Iterator[Naming]:
    """The letter at the start of a text, unless a list of both positions begins there, and the letter on the text's
    last line."""
    if match := _LEADING.match(text):
        group = "bracketed" if match["bracketed"] else "letter"
        letter, place = match[group], match.start(group)
        other = "B" if letter == "A" else "A"
        lists = re.search(
            rf"(?<![A-Za-z0-9]){other}[\s\"'”’]*[).:\]>,–—-]|(?<![A-Za-z0-9]){other}\s*\n", text[match.end() - 1 :]
        )
        if not lists and not _is_doubted(text, place, place + 1):
            yield letter, place
    if (match := _CLOSING.search(text)) and not _is_doubted(text, match.start("letter"), match.end("letter")):
        yield match["letter"], match.start("letter")


def _named(text: str) -> Iterator[Naming]:
    if _DECLINES.search(text):
        return
    for match in _NAMED.finditer(text):
        place = match.start("letter")
        before = _sentence_before(text, place)
        rest = text[match.end() : _end_of_sentence(text, match.end())]
        if _OTHERS.search(before) or _is_supposed(before) or _is_doubted(text, place, match.end()) or _NOT.search(rest):
            return
        yield match["letter"], place


def _is_decision(text: str, match: re.Match[str]) -> bool:
    """Whether a letter in a sentence is a decision. A letter is not a decision if the text denies or questions this
    letter, joins it with the other letter, or describes it unfavourably."""
    place = match.start("letter")
    after = text[match.end("letter") :][:_NEAR]
    if _is_doubted(text, place, match.end("letter")):
        return False
    after = after.lstrip(_CLOSING_MARKS)
    return not _COPULA.match(after) or bool(_GOOD_COPULA.match(after))


_COMPARED = re.compile(rf"(?i:\b(?:than|over|to|with|versus|vs|que|als|à)\b\.?){_X}")


def _is_preferred(text: str, match: re.Match[str]) -> bool:
    """Whether a sentence that prefers one position gives the answer's own view, and prefers this position alone.

    The sentence may name the other position only in a comparison ('than B'). 'A is cheaper, B is fairer' prefers
    neither position.
    """
    place = match.start("letter")
    before, rest = _sentence_before(text, place), text[place : _end_of_sentence(text, place)]
    if _OTHERS.search(before) or _is_supposed(before) or not _is_decision(text, match):
        return False
    return _mentioned(before + _COMPARED.sub("", rest)) == {match["letter"]}


_JOINED_AFTER = re.compile(
    rf"[\s.]*(?i:{_AND}(?:\s+(?:maybe|perhaps|possibly|even))?){_OPEN}(?i:{_NOUN}){_OPEN}{_L}{_GOES_ON}"
    rf"(?!\s+(?i:{_BE})\b)|\s*/|\|"
)
_JOINED_BEFORE = re.compile(rf"{_L}{_CLOSE}\s*(?i:{_AND}){_OPEN}(?i:{_NOUN}){_OPEN}\Z")


def _is_doubted(text: str, place: int, end: int) -> bool:
    """Whether the text denies the letter at index `place`, asks about it, or joins it with the other letter."""
    before, after = _just_before(text, place), text[end : end + _NEAR].lstrip(_CLOSING_MARKS)
    return bool(
        _NEGATION.search(before)
        or _DENIED.match(after)
        or _JOINED_AFTER.match(after)
        or _JOINED_BEFORE.search(before)
        or after.lstrip().startswith("?")
    )


def _just_before(text: str, place: int) -> str:
    return text[max(0, place - _NEAR) : place]


def _is_supposed(before: str) -> bool:
    return bool(_SUPPOSED.search(before) and not _HAD_TO_CHOOSE.search(before))


def _sentence_before(text: str, place: int) -> str:
    return text[max(text.rfind(mark, 0, place) for mark in _SENTENCE_ENDS) + 1 : place]


def _end_of_sentence(text: str, place: int) -> int:
    found = _SENTENCE_END.search(text, place)
    return len(text) if found is None else found.start()
