"""The published page in a real browser: axe-core finds nothing, at two widths, light and dark,
cards open.

Skipped without Chromium, and without axe-core: `npm pack axe-core`, unpack it, and set AXE_CORE to
its axe.min.js.
"""

import html
import re
import subprocess

import pytest
from extras import AXE, BROWSER, browser
from places import ROOT

PAGE = ROOT / "results" / "published" / "index.html"
REPORT = """axe.run().then(found => parent.postMessage(
  `${found.passes.length} passed; ` +
  found.violations.map(one => one.id + ' x ' + one.nodes.length).join(', '), '*'))"""
FRAME = """<iframe src="page.html" width="{width}" height="2000"></iframe>
<script>onmessage = event => document.title = 'axe: ' + event.data</script>"""


@browser
@pytest.mark.parametrize("width", (1280, 390))
@pytest.mark.parametrize("scheme", ("light", "dark"))
def test_axe_finds_nothing(tmp_path, width, scheme):
    page = PAGE.read_text(encoding="utf-8").replace("<details", "<details open")
    page = page.replace('src="../../', f'src="{ROOT}/')  # figures lie beside the results
    page = page.replace("(prefers-color-scheme: dark)", "all" if scheme == "dark" else "not all")
    script = AXE.read_text(encoding="utf-8")
    page = page.replace("</body>", f"<script>{script}</script><script>{REPORT}</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME.format(width=width), encoding="utf-8")
    options = "--headless --no-sandbox --disable-gpu --virtual-time-budget=60000 --dump-dom"
    command = [BROWSER, *options.split(), "--window-size=1400,2200"]
    command += [f"--user-data-dir={tmp_path}/profile", f"file://{tmp_path}/frame.html"]
    seen = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True).stdout
    found = re.search("<title>axe: ([0-9]+) passed; (.*?)</title>", html.unescape(seen))
    assert found is not None and int(found[1]) > 20, seen[:2000]
    assert found[2] == ""
