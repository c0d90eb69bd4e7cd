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
    """What the scripts of a local page wrote into the element with this id, in a frame of exactly `width` pixels:
    Chromium's own window is never narrower than 500."""
    framed = page.with_name(f"framed-{page.name}")
    framed.write_text(
        f"""<!doctype html><pre id="read"></pre><iframe src="{page.name}" \
style="width: {width}px; height: 900px; border: 0"></iframe>
        <script>addEventListener("load", () => {{
          const framed = document.querySelector("iframe").contentWindow;
          document.getElementById("read").textContent = framed.innerWidth + "\\n" + \
framed.document.getElementById("{element}").textContent;
        }});</script>""",
        encoding="utf-8",
    )
    command = [CHROMIUM, *OPTIONS, f"--user-data-dir={page.parent / 'profile'}", "--window-size=1400,1000"]
    done = subprocess.run(
        [*command, "--allow-file-access-from-files", "--dump-dom", framed.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    seen, text = done.stdout.split('<pre id="read">')[1].split("</pre>")[0].split("\n", 1)
    assert int(seen) == width
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
