"""Every table and figure, in the order of the paper: name of its files, and the query that makes it.

A query is a module with TITLE, EXPERIMENT (which `make grid` makes), maybe INTRO, `tables(results)`, and maybe `figures_of(results)`.
"""

from __future__ import annotations

from types import ModuleType

from compaug.reports import (
    composition_prior,
    departures,
    figure_4,
    figures_2_5,
    kinds_of_errors,
    other_experiments,
    table_1,
    table_2,
    table_3,
    table_4_7,
    table_5,
    table_6,
    table_8,
    table_10,
)
from compaug.reports.cells import Figure, Table
from compaug.reports.longtable import Results

TABLES: dict[str, ModuleType] = {
    "table_1": table_1,
    "table_2": table_2,
    "table_3": table_3,
    "table_4_7": table_4_7,
    "table_5": table_5,
    "table_6": table_6,
    "table_8": table_8,
    "table_10": table_10,
    "figure_4": figure_4,
    "figures_2_5": figures_2_5,
    "kinds_of_errors": kinds_of_errors,
    "composition_prior": composition_prior,
    "departures": departures,
    "other_experiments": other_experiments,
}


def intro(name: str) -> str:
    return getattr(TABLES[name], "INTRO", "")


def tables(name: str, results: Results) -> list[Table]:
    return TABLES[name].tables(results)


def figures(name: str, results: Results) -> list[Figure]:
    made = getattr(TABLES[name], "figures_of", None)
    return made(results) if made else []


def missing(name: str) -> str:
    """How to make what a query had nothing for."""
    return f"No results yet: `make grid EXPERIMENT={TABLES[name].EXPERIMENT}` makes them."
