"""A real headless browser for the pages; tests skip where Chromium is not installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs the browser chromium")


def text_of(page: Path, element: str, width: int = 1280) -> str:
    """What the scripts of a local page wrote into the element with this id, a <pre>."""
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={page.parent / 'profile'}", f"--window-size={width},900"]
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, check=True, timeout=60
    )
    text = done.stdout.split(f'<pre id="{element}">')[1].split("</pre>")[0]
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
