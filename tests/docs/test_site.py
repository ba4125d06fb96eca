"""The site: it builds without network and without a warning, and loads nothing from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import yaml

from docs.site_build.command_pages import commands_markdown
from docs.site_build.formulas import with_mathml
from docs.site_build.outside_pages import OUTSIDE, with_site_links
from flows.cli import app

ROOT = Path(__file__).parents[2]
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
CSS_URL = re.compile(r"url\(\s*['\"]?([^)'\"]+)")


class Loads(HTMLParser):
    """What a page loads: scripts, styles, pictures, frames."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        # A link to the same page elsewhere names it and loads nothing.
        if tag in LOADING and values.get("rel") != "canonical":
            self.addresses.append(values.get(LOADING[tag]) or "")


def test_no_page_and_no_style_loads_anything_from_another_host(site: Path) -> None:
    loaded = {page.name: Loads(page).addresses for page in site.rglob("*.html")}
    loaded |= {style.name: CSS_URL.findall(style.read_text()) for style in site.rglob("*.css")}
    assert len(loaded) > 20
    outside = {
        name: [a for a in addresses if re.match(r"(https?:)?//", a)]
        for name, addresses in loaded.items()
    }
    assert {name: addresses for name, addresses in outside.items() if addresses} == {}


def test_every_link_within_the_site_leads_to_a_file(site: Path) -> None:
    linked = re.compile(r'href="([^"#?]+)')
    dead = {
        f"{page.name}: {target}"
        for page in site.rglob("*.html")
        for target in map(unquote, linked.findall(page.read_text()))
        if page.name != "404.html" and not re.match(r"[a-z]+:|/", target)
        if not (page.parent / target).exists()
    }
    assert dead == set()


def test_every_formula_is_mathml(site: Path) -> None:
    text = (ROOT / "docs" / "method.md").read_text()
    blocks = len(re.findall(r"^\$\$", text, re.MULTILINE))
    page = (site / "method.html").read_text()
    assert page.count('display="block"') == blocks
    assert "arithmatex" not in page
    assert "$" not in re.sub(r"<script.*?</script>|<code.*?</code>", "", page, flags=re.DOTALL)


def test_every_page_of_the_project_has_a_place_in_the_navigation() -> None:
    class Loader(yaml.SafeLoader):
        """Reads mkdocs.yml without its Python objects."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
    named = set(re.findall(r"[\w-]+\.md", str(config["nav"])))
    pages = {path.with_suffix(".md").name for path in (ROOT / "docs").glob("*.[mi][dp]*")}
    assert pages | set(OUTSIDE.values()) <= named


def test_the_page_of_commands_describes_every_command_and_option() -> None:
    page = commands_markdown()
    for command in app.registered_commands:
        assert f"## deaps {command.callback.__name__}\n" in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 50
    assert [row for row in rows if not row.split(" | ")[1].strip()] == []


def test_a_link_from_outside_the_folder_leads_to_its_page() -> None:
    text = "[a](docs/data.md#x) [b](SECURITY.md) [c](LICENSE) [d](https://x.org/docs/data.md)"
    shown = with_site_links(text, "index.md")
    assert shown == "[a](data.md#x) [b](security.md) c [d](https://x.org/docs/data.md)"
    assert with_site_links("[e](../README.md#cite)", "faq.md") == "[e](index.md#cite)"


def test_formulas_within_a_line_and_on_their_own_become_mathml() -> None:
    assert "<mfrac>" in with_mathml(r'<span class="arithmatex">\(\frac{1}{2}\)</span>')
    block = with_mathml('<div class="arithmatex">\\[a &lt; b\\]</div>')
    assert 'class="formula"' in block
    assert "&#x0003C;" in block
