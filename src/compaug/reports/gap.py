"""The gap on unseen combinations in its two parts, as a sentence, and the remedy that follows from it.

`compaug.evaluation.decoding.knowledge` defines the parts.
"""

from dataclasses import dataclass, replace

from compaug.core.markdown import number

NOT_SHOWN = "°"
LEAST = 1.0  # point of H: a part that is smaller is not worth a remedy


@dataclass(frozen=True)
class Part:
    """Points of H with their 95 % interval, None where there is none.

    shown: whether the test of the comparison, corrected where there are several, says that it is not zero; over_rows:
    the interval is of one seed, over test rows.
    """

    mean: float
    low: float | None
    high: float | None
    shown: bool
    over_rows: bool = False

    def __str__(self) -> str:
        if self.low is None:
            return number(self.mean, digits=1)
        interval = f"[{number(self.low, digits=1)}, {number(self.high, digits=1)}]"
        return f"{number(self.mean, digits=1)} {interval}{' over test rows' if self.over_rows else self.mark}"

    @property
    def mark(self) -> str:
        """Of an interval without zero that the correction leaves nothing of."""
        return NOT_SHOWN if self.low is not None and self.low * self.high > 0 and not self.shown else ""

    def __neg__(self) -> "Part":
        if self.low is None:
            return replace(self, mean=-self.mean)
        return replace(self, mean=-self.mean, low=-self.high, high=-self.low)

    @property
    def is_gain(self) -> bool:
        return self.shown and self.mean > 0


@dataclass(frozen=True)
class Gap:
    """What separates one classifier from the matched arm, the two parts of that, and what texts give of it.

    texts, repeating: what the texts and repeating the support texts add to H at the best constant, each over no texts;
    texts_over_repeating: the one over the other. The three are None where there are no texts.
    """

    total: Part
    operating_point: Part
    knowledge: Part
    texts: Part | None = None
    repeating: Part | None = None
    texts_over_repeating: Part | None = None


def sentence(gap: Gap) -> str:
    """The two parts of the gap."""
    return (
        f"Of {number(gap.total.mean, digits=1)} points of H that the classifier lacks on unseen combinations, "
        f"{gap.operating_point} are a matter of decoding and {gap.knowledge} of texts"
    )


def sentence_in_brief(gap: Gap, texts: str = "") -> str:
    """What decoding closes, what texts could close, what these texts give; `texts`: what they are called, if any."""
    whole, free = (number(part.mean, digits=1) for part in (gap.total, gap.operating_point))
    gives = f", and {texts} give {gap.texts}" if texts else ""
    return f"Decoding closes {free} of {whole} points of H; real texts would close another {gap.knowledge}{gives}"


def contribution(gap: Gap, texts: str = "these texts") -> str:
    """What the texts give of the knowledge; `texts`: what they are called."""
    over = gap.texts_over_repeating
    if over is None:
        return f"{texts} give {gap.texts}"
    apart = f"{-over} less" if over.mean < 0 else f"{over} more"
    return f"{texts} give {gap.texts}, {apart} than repeating the support texts"


WORDS = {  # in a table, in a sentence
    "decoding": "decoding",
    "texts": "these texts",
    "repeating": "the support texts repeated",
    "support texts": "more support texts",
}


def remedy(gap: Gap) -> str:
    """What to do about the gap, and why."""
    names, why = _advice(gap)
    words = ", and ".join(WORDS[name] for name in names) or "nothing can be told"
    return f"{words}{why}"


def remedy_in_brief(gap: Gap) -> str:
    return ", ".join(_advice(gap)[0]) or "nothing can be told"


def _too_little(knowledge: Part) -> str:
    """Why knowledge asks for no remedy."""
    if knowledge.is_gain:
        return f"even real texts of them would add less than {number(LEAST, digits=0)} point to that"
    corrected = ", once corrected for all comparisons," if knowledge.low is not None and knowledge.low > 0 else ""
    return f"it is not shown{corrected} that even real texts of them would add to that"


def _advice(gap: Gap) -> tuple[tuple[str, ...], str]:
    """Keys of WORDS, none where nothing can be told, and what a sentence goes on with."""
    if gap.knowledge.over_rows:
        return (), ": there is one seed, and another may say otherwise"
    decoding = gap.operating_point.is_gain and gap.operating_point.mean >= LEAST
    if not (gap.total.is_gain or decoding):
        return (), ": no gap is shown on these test rows; test on more rows or other combinations"
    if not (gap.knowledge.is_gain and gap.knowledge.mean >= LEAST):
        if decoding:
            return ("decoding",), f": raise the scores of unseen combinations; {_too_little(gap.knowledge)}"
        if gap.operating_point.is_gain or gap.knowledge.is_gain:
            return (), f": what is shown of either part of the gap is less than {number(LEAST, digits=0)} point"
        return (), ": neither part of the gap is shown; test on more rows"
    first = ("decoding",) if decoding else ()
    more_than_repeating = gap.texts_over_repeating is None or gap.texts_over_repeating.is_gain
    if gap.texts is None:
        return (*first, "support texts"), ": real texts of the combinations teach, no texts were written"
    if not (gap.texts.is_gain and more_than_repeating):
        if gap.repeating is not None and gap.repeating.is_gain:
            return (*first, "repeating"), ": it costs nothing, and these texts are not shown to teach more"
        if gap.texts.is_gain:
            return (*first, "texts"), ", though they are not shown to teach more than repeating the support texts"
        return (*first, "support texts"), ": real texts of the combinations teach, these texts are not shown to help"
    left = gap.knowledge.mean - gap.texts.mean
    more = (
        f"; {number(left, digits=1)} points are left, for better texts or more support texts" if left >= LEAST else ""
    )
    return (*first, "texts"), more
