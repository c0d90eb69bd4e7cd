"""Every table and figure, in the order of the paper: name of its files, and the query that makes it.

A query is a module of that name, or of that name and `_tables`, with EXPERIMENT (which `make grid` makes),
`tables(results)`, whose tables without rows are left out, and maybe `figures_of(results)`. What stands above its
tables is in core/templates/sections.yaml.
"""

from importlib import import_module
from types import ModuleType

import yaml

from compaug.core.pages import render
from compaug.reports.entries import Figure, Table, corrected
from compaug.reports.queries import Results

QUERIES = (
    "knowledge_tables",
    "draws_tables",
    "verdicts",
    "accuracy_by_fidelity",
    "table_1",
    "table_2",
    "table_3",
    "table_4_7",
    "table_5",
    "table_6",
    "table_8",
    "table_10",
    "figure_4",
    "figures_2_5",
    "kinds_of_errors",
    "composition_prior_tables",
    "emphasis",
    "guidance_tables",
    "coda_tables",
    "low_resource_tables",
    "linda_tables",
    "cartography_tables",
    "parsing_tables",
    "slu_tables",
    "joint_tables",
    "mixout_tables",
    "metric_study",
    "departures",
    "other_experiments",
)
SECTIONS: dict[str, dict[str, str]] = yaml.safe_load(render("sections.yaml"))  # by name: title, intro, begins
TABLES: dict[str, ModuleType] = {
    query.removesuffix("_tables"): import_module(f"compaug.reports.{query}") for query in QUERIES
}


def tables(name: str, results: Results) -> list[Table]:
    return [corrected(table) for table in TABLES[name].tables(results) if table.rows]


def figures(name: str, results: Results) -> list[Figure]:
    return list(TABLES[name].figures_of(results)) if hasattr(TABLES[name], "figures_of") else []


def missing(name: str) -> str:
    """How to make what a query had nothing for."""
    return f"No results yet: `make grid EXPERIMENT={TABLES[name].EXPERIMENT}` makes them."
