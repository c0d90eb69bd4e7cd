"""Pages from the templates of this package: Markdown as it is, HTML with everything escaped."""

import re

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from compaug.core.markdown import markdown_table, number

LONG_NAME = 30  # characters


def render(template: str, **values: object) -> str:
    """A value that the template needs and nobody gave is an error."""
    environment = Environment(
        loader=PackageLoader("compaug.core"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": code, "breakable": breakable}
    environment.globals |= {"number": number, "table": markdown_table}
    return environment.get_template(template).render(values)


def code(text: str) -> Markup:
    """What stands between backticks, as code; everything escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def breakable(shown: Markup) -> Markup:
    """With a place for a new line behind each underscore of a very long name, else broken in the middle of a word."""
    return Markup(re.sub(rf"\w{{{LONG_NAME},}}", lambda name: name[0].replace("_", "_<wbr>"), shown))
