"""The page for the owner of the texts alone: some synthetic texts with their scores, and what the classifier cuts off.

Texts of many corpora may not be passed on, so it is written to a folder that Git ignores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from compaug.core.files import InputError
from compaug.core.records import Example, Labels

COMBINATIONS, EACH = 12, 3
LONGEST = 400  # characters of a text that are shown


def page(kept: Sequence[Example], labels: Labels, lengths: Mapping[str, Sequence[int]], max_length: int) -> str:
    """Markdown. `kept` in the filter's order, best first; `lengths`: tokens of the texts of each part."""
    lines = [
        "# Texts of this run",
        "",
        "For your eyes: this file is not in Git, because texts of a corpus may have an owner.",
        "",
    ]
    lines += [f"## What was cut after {max_length} tokens", ""]
    for part, tokens in lengths.items():
        cut = sum(n > max_length for n in tokens)
        lost = sum(max(0, n - max_length) for n in tokens) / max(sum(tokens), 1)
        share = f"{cut / len(tokens):.1%}" if tokens else "none"
        lines.append(
            f"- {part}: {cut:,} of {len(tokens):,} texts ({share}), {lost:.1%} of all tokens; the longest has "
            f"{max(tokens, default=0):,}"
        )
    lines += [
        "",
        (
            "A larger `classifiers.shared.max_length` reads more, and takes longer. "
            "The filter reads as much as the classifier."
        ),
        "",
    ]
    by_request: dict[tuple[int, ...], list[Example]] = defaultdict(list)
    for example in kept:
        by_request[example.requested_labels or example.labels].append(example)
    largest = sorted(by_request, key=lambda label_set: (-len(by_request[label_set]), label_set))[:COMBINATIONS]
    lines += [f"## Synthetic texts: {len(largest)} of {len(by_request)} combinations", ""]
    lines += [
        (
            "The first, the middle and the last of each in the filter's order; "
            "the score is the Jaccard index of what it read and what was asked for."
        ),
        "",
    ]
    for label_set in largest:
        texts = by_request[label_set]
        lines += [f"### {labels.key(label_set)} ({len(texts)})", ""]
        for at in sorted({0, len(texts) // 2, len(texts) - 1})[:EACH]:
            lines.append(f"- {_score(texts[at])}: {_shown(texts[at].text)}")
        lines.append("")
    return "\n".join(lines)


def _score(example: Example) -> str:
    return "–" if example.filter_jacc is None else f"{example.filter_jacc:.2f}"


def _shown(text: str) -> str:
    """One line of Markdown that is no markup."""
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST else f"{line[:LONGEST]} …"
    return "".join(f"\\{c}" if c in "\\`*_<[|#" else c for c in short)


def lengths_of(model_dir: Path, texts: Sequence[str]) -> list[int]:
    """Tokens of each text as the classifier would read it without a limit."""
    from tokenizers import Tokenizer

    file = model_dir / "tokenizer.json"
    if not file.is_file():
        raise InputError(f"{file}: no such file; train the classifier again")
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts))]
