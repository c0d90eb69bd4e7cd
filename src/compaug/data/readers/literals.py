"""Lists, tuples, sets and mappings that are written as text, by JSON, Python, PostgreSQL or numpy; nothing is run."""

import contextlib
import re
from typing import Any

from compaug.core.records import loads

TOKEN = re.compile(
    r"""\s*(?:(?P<string>[bru]?"(?:[^"\\\n]|\\.)*"|[bru]?'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+))(?![\w.])|(?P<word>[A-Za-z_][\w.]*)|(?P<mark>[][(){},:=]))"""
)
WORDS = {"true": True, "false": False, "none": None, "null": None, "nan": None}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0", "\n": ""}
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
NUMBERS = re.compile(r"\[\s*[-+]?\d+\.?\d*(?:\s+[-+]?\d+\.?\d*)*\s*\]")  # as numpy prints them
BARE = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*"|[^{}"\',:]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^{}"\',:]+))*\s*\}')  # {a,"b c"}
PAIRS = {"[": "]", "(": ")", "{": "}"}
DEEPEST = 8


def looks_written(text: str) -> bool:
    """Whether a cell begins and ends as a list, tuple, set or mapping does."""
    return (PAIRS.get(text[:1]) or "\0") == text[-1:] or bool(re.match(r"(?:frozen)?set\(|array\(", text))


def parse(text: str) -> Any:
    """Its value: lists for tuples and sets. ValueError where it is none, or lacks a comma (Python would join names)."""
    with contextlib.suppress(ValueError):
        return loads(text)
    if NUMBERS.fullmatch(text):
        return [float(word) if "." in word else int(word) for word in text[1:-1].split()]
    try:
        return _Parser(text).whole()
    except ValueError:
        if BARE.fullmatch(text):
            return [word.strip().strip('"') for word in re.findall(r'"(?:[^"\\]|\\.)*"|[^,{}]+', text[1:-1])]
        raise


class _Parser:
    """A value of Python's displays, token by token."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            if not (match := TOKEN.match(text, at)):
                raise ValueError(f"unreadable from {text[at : at + 20]!r} on")
            self.tokens.append((match.lastgroup or "", match[match.lastgroup or 0]))
            at = match.end()
        self.tokens.append(("end", ""))
        self.at = 0

    def whole(self) -> Any:
        value = self.value(0)
        if self.tokens[self.at][0] != "end":
            raise ValueError(f"{self.tokens[self.at][1]!r} after the end")
        return value

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def value(self, depth: int) -> Any:
        kind, word = self.take()
        if depth > DEEPEST or kind == "end":
            raise ValueError("too deep" if depth > DEEPEST else "cut off")
        if kind == "string":
            return _unescaped(word)
        if kind == "number":
            return float(word) if re.search("[.eE]", word) else int(word)
        if kind == "word":
            return self.named(word, depth)
        if word not in PAIRS:
            raise ValueError(f"{word!r} in the place of a value")
        return self.items(PAIRS[word], depth)

    def named(self, word: str, depth: int) -> Any:
        """true, None; or what set(..) and array(.., dtype=..) hold."""
        if word.lower() in WORDS:
            return WORDS[word.lower()]
        if word not in ("set", "frozenset", "array", "np.array") or self.take()[1] != "(":
            raise ValueError(f"the word {word!r}")
        if self.tokens[self.at][1] == ")":
            self.take()
            return []
        value = self.value(depth + 1)
        if self.tokens[self.at][1] == ",":
            while self.tokens[self.at][0] != "end" and self.tokens[self.at][1] != ")":
                self.take()
        if self.take()[1] != ")":
            raise ValueError("a bracket that does not close")
        return value

    def items(self, close: str, depth: int) -> Any:
        listed: list[Any] = []
        pairs: dict[Any, Any] = {}
        while True:
            if self.tokens[self.at][1] == close and self.tokens[self.at][0] == "mark":
                self.take()
                break
            value = self.value(depth + 1)
            if close == "}" and self.tokens[self.at] == ("mark", ":"):
                self.take()
                if not isinstance(value, str | int | float):
                    raise ValueError("a key that is neither a string nor a number")
                pairs[value] = self.value(depth + 1)
            else:
                listed.append(value)
            kind, word = self.take()
            if (kind, word) == ("mark", close):
                break
            if (kind, word) != ("mark", ","):
                raise ValueError(f"{word!r} in the place of a comma")
        if pairs and listed:
            raise ValueError("half a mapping")
        return pairs if pairs or (close == "}" and not listed) else listed


def _unescaped(word: str) -> str:
    if word[0] in "bru":
        word = word[1:] if word[0] != "r" else word[1:].replace("\\", "\\\\")
    text = ESCAPE.sub(_character, word[1:-1])
    return text.encode("utf-16", "surrogatepass").decode("utf-16")  # halves of a pair that JSON wrote become one


def _character(match: re.Match) -> str:
    for digits in match.groups()[:3]:
        if digits:
            if int(digits, 16) > 0x10FFFF:
                raise ValueError(f"no character {digits}")
            return chr(int(digits, 16))
    letter = match[4]
    return ESCAPES.get(letter, letter if letter in "\\'\"/" else f"\\{letter}")
