"""The text in an answer, without remarks, list and quotation marks, or why there is none (docs/spec/coda.md, 5)."""

import re
from collections.abc import Mapping

from compaug.core.records import text_key

FATES = ("parsed", "empty", "refused", "cut", "copied")
REFUSAL = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bi(?:'m|’m| am) (?:just )?an? (?:ai|(?:large )?language model)\b"
    r"|\bi(?:'m|’m| am) sorry,? but i (?:can|am|'m|’m)"
    r"|\bi(?: cannot|(?: am|'m|’m) (?:not able|unable) to| can(?:'t|’t| not)) "
    r"(?:assist|comply|fulfil|fulfill|generate|provide|write|create)\b",
    re.IGNORECASE,
)
REMARK = re.compile(
    r"(?:assistant|answer|document|message|output|response|text)\s*:\s*"
    r"|(?:sure|certainly|of course|okay|absolutely)\b[,.!]*\s*(?:here|this is)\b[^\n:]{0,100}:\s*"
    r"|here(?:'s|’s| is| are)\b[^\n:]{0,60}"
    r"\b(?:answer|document|example|message|response|sentence|text|tweet)s?\b[^\n:]{0,60}:\s*",
    re.IGNORECASE,
)
MARKER = re.compile(r"(?:[-*•]|1[.)])\s+")
QUOTES = {'"': '"', "“": "”", "'": "'", "‘": "’", "«": "»"}


def read(answer: Mapping, form: str, seen_texts: set[str]) -> tuple[str, str]:
    """(fate, text) of an answer; fate is one of FATES and the text is "" unless it is `parsed`."""
    content = (answer["content"] or "").strip()
    if answer["refusal"] or answer["finish_reason"] == "content_filter" or REFUSAL.search(content[:300]):
        return "refused", ""
    another = ""
    if form == "instruction":  # of several candidates the first
        content, another, _ = _bare(content).partition("\n\n")
    if answer["finish_reason"] == "length" and not another:
        return "cut", ""
    text = " ".join((_unquoted(content) if form == "instruction" else content).split())
    if not text:
        return "empty", ""
    return ("copied", "") if text_key(text) in seen_texts else ("parsed", text)


def _bare(content: str) -> str:
    """Without what a model says before its text, and without the mark of a list."""
    for pattern in (REMARK, MARKER):
        if match := pattern.match(content):
            content = content[match.end() :].strip()
    return content


def _unquoted(text: str) -> str:
    """Without the quotation marks around it: those that stand inside stay."""
    text = text.strip()
    inside = text[1:-1]
    if len(text) > 1 and QUOTES.get(text[0]) == text[-1] and not {text[0], text[-1]} & set(inside) - {"'", "’"}:
        return inside
    return text
