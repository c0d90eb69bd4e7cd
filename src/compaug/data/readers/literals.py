"""Lists, tuples, sets and mappings that are written as text, by JSON, Python, PostgreSQL or numpy; nothing is run."""

import ast
import contextlib
import re
import warnings
from typing import Any

from compaug.core.files import loads

WORDS = {"true": True, "false": False, "none": None, "null": None, "nan": None}
WORDS |= {"np.true_": True, "np.false_": False, "np.nan": None}
AROUND = (
    "set",
    "frozenset",
    "array",
    "np.array",
    "Index",
    "tensor",
    "Counter",
    "OrderedDict",
    "dict_keys",
    "dict_values",
)
AROUND_ONE = ("str_", "int64", "int32", "int8", "uint8", "float64", "float32", "bool_")  # as numpy 2 prints its scalars
CALLS = frozenset((*AROUND, *(f"np.{name}" for name in AROUND_ONE)))  # before other arguments such as dtype
WRITTEN = re.compile(rf"(?:{'|'.join(AROUND)})\(")
NUMBERS = re.compile(r"\[\s*[-+]?\d+\.?\d*(?:[\s,]+[-+]?\d+\.?\d*)*[\s,]*\]")  # as numpy prints them, or 01 for 1
NUMPY = re.compile(r"""\[\s*(?:'[^'\\]*'|"[^"\\]*")(?:\s+(?:'[^'\\]*'|"[^"\\]*"))+\s*\]""")  # its arrays of strings
STRING = re.compile(r"""[bru]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")
BARE = re.compile(r'\{\s*(?:"(?:[^"\\]|\\.)*"|[^{}"\',:]+)(?:,(?:"(?:[^"\\]|\\.)*"|[^{}"\',:]+))*\s*\}')  # {a,"b c"}
PAIRS = {"[": "]", "(": ")", "{": "}"}
DEEPEST = 8


def looks_written(text: str) -> bool:
    """Whether a cell begins and ends as a list, tuple, set or mapping does."""
    return (PAIRS.get(text[:1]) or "\0") == text[-1:] or bool(WRITTEN.match(text))


def parse(text: str) -> Any:
    """Its value: lists for tuples and sets. ValueError where it is none, or lacks a comma (Python would join names)."""
    with contextlib.suppress(ValueError):
        return loads(text)
    if NUMPY.fullmatch(text):
        return [written[1:-1] for written in re.findall(r"'[^'\\]*'|\"[^\"\\]*\"", text)]
    if NUMBERS.fullmatch(text):
        return [float(word) if "." in word else int(word) for word in re.findall(r"[^\s,]+", text[1:-1])]
    try:
        value = _value(text, _parsed(text), 0)
    except ValueError:
        if BARE.fullmatch(text):
            return [word.strip().strip('"') for word in re.findall(r'"(?:[^"\\]|\\.)*"|[^,{}]+', text[1:-1])]
        raise
    return [value] if text[:1] == "(" and not isinstance(value, list) else value  # of one item without its comma


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # an escape that Python lacks
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(error.msg) from None
    except (RecursionError, MemoryError):
        raise ValueError("too deep") from None


def _value(text: str, node: ast.expr, depth: int) -> Any:
    """What a display of Python holds. ValueError for any other expression."""
    if depth > DEEPEST:
        raise ValueError("too deep")
    match node:
        case ast.Constant(value=str() | bytes() as string):
            return _whole(ast.get_source_segment(text, node) or "", string)
        case ast.Constant(value=None | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as number)):
            return -number if isinstance(sign, ast.USub) else number
        case ast.Name() | ast.Attribute() if (word := ast.unparse(node).lower()) in WORDS:
            return WORDS[word]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return [_value(text, item, depth + 1) for item in items]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            names = [_value(text, key, depth + 1) for key in keys]
            if not all(isinstance(name, str | int | float) for name in names):
                raise ValueError("a key that is neither a string nor a number")
            return dict(zip(names, (_value(text, value, depth + 1) for value in values), strict=True))
        case ast.Call(func=called, args=args) if ast.unparse(called) in CALLS:
            return _value(text, args[0], depth + 1) if args else []
    raise ValueError(f"{ast.unparse(node)[:20]!r} in the place of a value")


def _whole(written: str, string: str | bytes) -> str:
    """The string of a literal. ValueError for several of them, which Python would join."""
    if not STRING.fullmatch(written):
        raise ValueError("two strings without a comma between them")
    text = string.decode("latin-1") if isinstance(string, bytes) else string
    return text.encode("utf-16", "surrogatepass").decode("utf-16")  # halves of a pair that JSON wrote become one
