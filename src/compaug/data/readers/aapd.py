"""AAPD, arXiv abstracts with 54 subject codes (paper, "Datasets"): the SGM release, the authors' split, or a rebuild.

The rebuild holds real arXiv records with AAPD's histogram of compositions, for when the release cannot be had.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from compaug.core.records import Example, InputError, Labels
from compaug.data.corpus import (
    SPLITS,
    Corpus,
    clean,
    from_sources,
    lines,
    no_options,
    read_split_files,
    require_files,
    tsv_rows,
)

# code, official arXiv name (with its archive where names are equal), name in the reference repository (some are wrong)
TABLE = (
    ("cs.it", "Information Theory (Computer Science)", "Information Theory and Coding Theory"),
    ("math.it", "Information Theory (Mathematics)", "Information Theory"),
    ("cs.lg", "Machine Learning (Computer Science)", "Machine Learning"),
    ("cs.ai", "Artificial Intelligence", "Artificial Intelligence"),
    ("stat.ml", "Machine Learning (Statistics)", "Machine Learning and Statistics"),
    ("cs.ds", "Data Structures and Algorithms", "Data Structures and Algorithms"),
    ("cs.si", "Social and Information Networks", "Social and Information Networks"),
    ("cs.dm", "Discrete Mathematics", "Discrete Mathematics"),
    ("physics.soc-ph", "Physics and Society", "Physics and Society"),
    ("cs.lo", "Logic in Computer Science", "Logic in Computer Science"),
    ("math.co", "Combinatorics", "Combinatorics"),
    ("cs.cc", "Computational Complexity", "Computational Complexity"),
    ("math.oc", "Optimization and Control", "Optimization and Control"),
    ("cs.ni", "Networking and Internet Architecture", "Networking and Internet Architecture"),
    ("cs.cv", "Computer Vision and Pattern Recognition", "Computer Vision and Pattern Recognition"),
    ("cs.cl", "Computation and Language (Computer Science)", "Computation and Language (Natural Language Processing)"),
    ("cs.cr", "Cryptography and Security", "Cryptography and Security"),
    ("cs.sy", "Systems and Control", "Systems and Control"),
    ("cs.dc", "Distributed, Parallel, and Cluster Computing", "Distributed, Parallel, and Cluster Computing"),
    ("cs.ne", "Neural and Evolutionary Computing", "Neural and Evolutionary Computing"),
    ("cs.ir", "Information Retrieval", "Information Retrieval"),
    ("quant-ph", "Quantum Physics", "Quantum Physics"),
    ("cs.gt", "Computer Science and Game Theory", "Computer Science and Game Theory"),
    ("cs.cy", "Computers and Society", "Computational Geometry"),
    ("cs.pl", "Programming Languages", "Programming Languages"),
    ("cs.se", "Software Engineering", "Software Engineering"),
    ("math.pr", "Probability", "Probability"),
    ("cs.db", "Databases", "Databases"),
    ("cs.cg", "Computational Geometry", "Computer Graphics"),
    ("cs.na", "Numerical Analysis (Computer Science)", "Numerical Analysis"),
    ("cs.hc", "Human-Computer Interaction", "Human-Computer Interaction"),
    ("math.na", "Numerical Analysis (Mathematics)", "Math Numerical Analysis"),
    ("cs.ce", "Computational Engineering, Finance, and Science", "Computational Engineering, Finance, and Science"),
    ("cs.ma", "Multiagent Systems", "Multiagent Systems"),
    ("cs.ro", "Robotics", "Robotics"),
    ("cs.fl", "Formal Languages and Automata Theory", "Formal Languages and Automata Theory"),
    ("math.st", "Statistics Theory (Mathematics)", "Statistics Theory"),
    ("stat.th", "Statistics Theory (Statistics)", "Statistics Theory and Methods"),
    ("cs.dl", "Digital Libraries", "Deep Learning"),
    ("cmp-lg", "Computation and Language (former cmp-lg archive)", "Computational Linguistics"),
    ("cs.mm", "Multimedia", "Multimedia"),
    ("cond-mat.stat-mech", "Statistical Mechanics", "Statistical Mechanics and Condensed Matter"),
    ("cs.pf", "Performance", "Performance"),
    ("math.lo", "Logic", "Logic"),
    ("stat.ap", "Applications", "Applied Statistics"),
    ("cs.ms", "Mathematical Software", "Mathematical Software"),
    ("stat.me", "Methodology", "Methodology and Experimentation"),
    ("cs.sc", "Symbolic Computation", "Symbolic Computation"),
    ("cond-mat.dis-nn", "Disordered Systems and Neural Networks", "Disordered Systems and Neural Networks"),
    ("q-bio.nc", "Neurons and Cognition", "Neurons and Cognition"),
    (
        "physics.data-an",
        "Data Analysis, Statistics and Probability",
        "Data Analysis, Statistics and Probability in Physics",
    ),
    ("nlin.ao", "Adaptation and Self-Organizing Systems", "Adaptation and Self-Organizing Systems"),
    ("q-bio.qm", "Quantitative Methods", "Quantitative Methods"),
    ("math.nt", "Number Theory", "Number Theory"),
)
NAMES = tuple(code for code, _, _ in TABLE)
PHRASES = {"arxiv": tuple(name for _, name, _ in TABLE), "reference": tuple(name for _, _, name in TABLE)}
LABELS = Labels(NAMES, NAMES)
ID_OF = {code: label for label, code in enumerate(NAMES)}

PARTS = ("train", "val", "test")
RELEASE = tuple(f"{kind}_{part}" for part in PARTS for kind in ("text", "label"))
REBUILT_HEADER = ("arxiv_id", "created", "labels", "matched", "title", "abstract")


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    """`files`: train, support, test (the authors' split); or text_/label_ train, val, test (SGM); or rebuilt."""
    no_options("aapd", options)
    return from_sources(
        files,
        {
            SPLITS: partial(read_split_files, LABELS, phrase_sets=PHRASES),
            RELEASE: _read_release,
            ("rebuilt",): _read_rebuilt,
        },
    )


def _read_release(files: Mapping[str, Path]) -> Corpus:
    """Line-parallel files of texts and of codes separated by spaces."""
    examples = []
    for part in PARTS:
        text_key, label_key = f"text_{part}", f"label_{part}"
        if text_key not in files and label_key not in files:
            continue
        require_files(files, text_key, label_key)
        texts, label_lines = files[text_key], files[label_key]
        for text_line, label_line in itertools.zip_longest(lines(texts), lines(label_lines)):
            if text_line is None or label_line is None:
                number, shorter = (label_line, texts) if text_line is None else (text_line, label_lines)
                raise InputError(f"{shorter}: ends before line {number[0]} of its twin; fetch both files again")
            number, text = text_line
            labels = _labels(f"{label_lines}:{number}", label_line[1])
            examples.append(_example(f"{texts}:{number}", f"aapd-{part}-{number:05d}", text, labels))
    return Corpus(examples, LABELS, None, PHRASES)


def _read_rebuilt(files: Mapping[str, Path]) -> Corpus:
    path = files["rebuilt"]
    examples = []
    for number, (arxiv_id, _, codes, _, _, abstract) in tsv_rows(path, REBUILT_HEADER):
        where = f"{path}:{number}"
        examples.append(_example(where, arxiv_id, abstract, _labels(where, codes)))
    return Corpus(examples, LABELS, None, PHRASES)


def _labels(where: str, codes: str) -> tuple[int, ...]:
    for code in codes.split():
        if code.lower() not in ID_OF:
            raise InputError(f"{where}: {code!r} is not one of the {len(LABELS)} AAPD codes; restore the file")
    return tuple(sorted({ID_OF[code.lower()] for code in codes.split()}))


def _example(where: str, example_id: str, text: str, labels: tuple[int, ...]) -> Example:
    try:
        return Example(example_id, clean(text), labels)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None
