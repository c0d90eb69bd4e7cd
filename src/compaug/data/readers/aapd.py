"""AAPD, arXiv abstracts with 54 subject codes, in the authors' split (paper, "Datasets")."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from compaug.core.records import Labels
from compaug.data.corpus import Corpus, no_options, read_split_files

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


def read(files: Mapping[str, Path], options: Mapping[str, Any]) -> Corpus:
    no_options("aapd", options)
    return read_split_files(LABELS, files, PHRASES)
