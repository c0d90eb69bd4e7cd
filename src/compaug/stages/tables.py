"""Every table and figure from the long table: Markdown and CSV of each, figures as PNG.

python -m compaug.stages.tables --reports reports --out reports/tables
"""

from compaug.core.files import atomic_dir, write_text
from compaug.experiments import params
from compaug.stages import parser, run

OPTIONS = parser(__doc__, "reports", out="folder")


def main(argv: list[str] | None = None) -> None:
    args = OPTIONS.parse_args(argv)
    # after the cheap checks: pandas and matplotlib are slow to import
    from compaug.reports import contents, entries, queries

    results = queries.load(args.reports, params.every(args.params))
    with atomic_dir(args.out) as folder:
        (folder / "figures").mkdir(parents=True)
        for name, section in contents.SECTIONS.items():
            tables, figures = contents.tables(name, results), contents.figures(name, results)
            for figure in figures:
                figure.draw(folder / "figures" / figure.name)
            shown = [f"![{figure.caption}](figures/{figure.name}.png)" for figure in figures]
            parts = [f"# {section['title']}", section.get("intro"), *map(entries.markdown, tables), *shown]
            parts += [] if tables else [contents.missing(name)]
            write_text(folder / f"{name}.md", "\n\n".join(part for part in parts if part) + "\n")
            write_text(folder / f"{name}.csv", entries.comma_separated(tables))
    print(f"{args.out}: {len(contents.TABLES)} tables, {len(set(results.frame['experiment']))} experiments")


if __name__ == "__main__":
    run(main)
