"""The page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from deaps.report.theme import DARK, LIGHT
from tests.deaps.report.browser import CHROMIUM, Tab, chromium

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium in the path (apt-get install chromium)"
)

DESKTOP = (1280, 900)
PHONE = (390, 844)
PAPER = (680, 1000)
"""What the margins leave of A4, in pixels of a 96th of an inch."""

INVISIBLE = """
[...document.querySelectorAll("figure, svg, .matrix")].filter((one) => {
  const box = one.getBoundingClientRect();
  return !one.closest("details:not([open])") && (box.width < 5 || box.height < 5);
}).map((one) => one.id || one.getAttribute("aria-label") || one.outerHTML.slice(0, 80))
"""

OVERLAPPING = """
[...document.querySelectorAll("svg.plot")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")];
  const boxes = texts.map((one) => one.getBoundingClientRect());
  const found = [];
  for (let a = 0; a < boxes.length; a++)
    for (let b = 0; b < a; b++) {
      const [one, other] = [boxes[a], boxes[b]];
      const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (width > 1 && height > 4) found.push(`${texts[a].textContent} / ${texts[b].textContent}`);
    }
  return found.map((text) => `${svg.getAttribute("aria-label")}: ${text}`);
})
"""

CUT_OFF = """
[...document.querySelectorAll("svg.plot")].flatMap((svg) => {
  const room = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.left < room.left - 3 || box.right > room.right + 3;
  }).map((one) => `${svg.getAttribute("aria-label")}: ${one.textContent}`);
})
"""

PLACE_OF_MAP = """
(() => {
  const stage = document.querySelector(".map-stage");
  stage.scrollIntoView({ block: "center" });
  const box = stage.getBoundingClientRect();
  return [box.left, box.top, box.width, box.height];
})()
"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as tab:
        yield tab


@pytest.fixture
def desktop(tab: Tab, page_path: Path) -> Tab:
    tab.set_screen(*DESKTOP)
    tab.set_theme("light")
    tab.open(page_path)
    return tab


@pytest.fixture
def phone(tab: Tab, page_path: Path) -> Tab:
    tab.set_screen(*PHONE, phone=True)
    tab.set_theme("light")
    tab.open(page_path)
    return tab


def shown_strip(tab: Tab) -> tuple[str, str, str]:
    """Return the number of the window that is shown, its words and its trace."""
    figure = 'document.querySelector("figure.map")'
    shown = tab.evaluate(f"{figure}.dataset.shown")
    text = tab.evaluate(f'{figure}.querySelector(".map-text").textContent')
    trace = tab.evaluate(f'{figure}.querySelector(".trace").getAttribute("d")')
    return shown, text, trace


def colour_of_body(tab: Tab, name: str) -> str:
    return tab.evaluate(f"getComputedStyle(document.body)[{name!r}]")


def as_rgb(colour: str) -> str:
    return "rgb({}, {}, {})".format(*(int(colour[k : k + 2], 16) for k in (1, 3, 5)))


def test_console_stays_empty_and_nothing_is_asked_of_the_network(desktop: Tab) -> None:
    assert desktop.problems() == []
    assert [url.partition(":")[0] for url in desktop.requests()] in (["file"], ["file", "data"])


def test_every_figure_is_visible(desktop: Tab) -> None:
    assert desktop.evaluate('document.querySelectorAll("figure").length') > 30
    assert desktop.evaluate(INVISIBLE) == []


def test_no_label_covers_another_or_is_cut_off(desktop: Tab) -> None:
    assert desktop.evaluate(OVERLAPPING) == []
    assert desktop.evaluate(CUT_OFF) == []


def test_hover_shows_the_strip_of_the_nearest_window(desktop: Tab) -> None:
    left, top, width, height = desktop.evaluate(PLACE_OF_MAP)
    desktop.point_at(left + 0.3 * width, top + 0.5 * height)
    first = shown_strip(desktop)
    desktop.point_at(left + 0.8 * width, top + 0.5 * height)
    second = shown_strip(desktop)
    assert first[0] != second[0]
    assert first[2] != second[2]
    assert second[1].startswith(("AFib, subject ", "normal, subject "))
    assert second[2].count("L") == 499


def test_arrow_keys_go_from_window_to_window(desktop: Tab) -> None:
    desktop.evaluate('document.querySelector(".map-stage").focus()')
    before = shown_strip(desktop)[0]
    desktop.press("ArrowLeft")
    after = shown_strip(desktop)[0]
    assert before != after
    desktop.press("ArrowRight")
    assert shown_strip(desktop)[0] != after


def test_touch_shows_a_strip(phone: Tab) -> None:
    left, top, width, height = phone.evaluate(PLACE_OF_MAP)
    before = shown_strip(phone)[0]
    point = {"x": left + 0.3 * width, "y": top + 0.4 * height}
    phone.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[point])
    phone.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert shown_strip(phone)[0] != before


def test_phone_never_scrolls_sideways(phone: Tab) -> None:
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE[0]
    assert phone.evaluate(INVISIBLE) == []


def test_a_wide_table_on_a_phone_says_that_it_goes_on_until_its_end(phone: Tab) -> None:
    area = 'document.querySelector("#table-accuracy-1 .scroll")'
    assert phone.evaluate(f"{area}.scrollWidth > {area}.clientWidth")
    assert phone.evaluate(f"{area}.previousElementSibling.getBoundingClientRect().height") > 5
    assert phone.evaluate(f'{area}.classList.contains("goes-on")')
    phone.evaluate(f"{area}.scrollLeft = {area}.scrollWidth")
    phone.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert not phone.evaluate(f'{area}.classList.contains("goes-on")')


def test_what_fits_the_screen_has_no_sign(desktop: Tab) -> None:
    wrong = """
    [...document.querySelectorAll(".more")].filter((sign) => {
      const area = sign.nextElementSibling;
      return sign.hidden === area.scrollWidth > area.clientWidth + 1;
    }).length
    """
    assert desktop.evaluate(wrong) == 0
    assert desktop.evaluate('document.querySelectorAll(".more[hidden]").length') > 10


def test_on_paper_a_head_stays_with_its_first_table_or_figure(desktop: Tab) -> None:
    desktop.call("Emulation.setEmulatedMedia", media="print")
    alone = """
    [...document.querySelectorAll("section")].filter((section) => {
      const opening = section.querySelector(":scope > .opening");
      const shown = "figure, details";
      return getComputedStyle(opening).breakInside !== "avoid" || !opening.querySelector("h2")
        || (section.querySelector(shown) && !opening.querySelector(shown));
    }).map((section) => section.id)
    """
    assert desktop.evaluate('document.querySelectorAll("section").length') > 10
    assert desktop.evaluate(alone) == []
    desktop.call("Emulation.setEmulatedMedia", media="")


def test_dark_theme_is_followed_and_paper_stays_white(tab: Tab, page_path: Path) -> None:
    tab.set_screen(*DESKTOP)
    tab.set_theme("dark")
    tab.open(page_path)
    assert colour_of_body(tab, "backgroundColor") == as_rgb(DARK["page"])
    assert colour_of_body(tab, "color") == as_rgb(DARK["ink"])
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    tab.call("Emulation.setEmulatedMedia", media="print", features=features)
    assert colour_of_body(tab, "backgroundColor") == as_rgb(LIGHT["page"])
    tab.call("Emulation.setEmulatedMedia", media="", features=[])


def test_paper_is_wide_enough(desktop: Tab) -> None:
    desktop.set_screen(*PAPER)
    desktop.evaluate('dispatchEvent(new Event("beforeprint"))')
    desktop.call("Emulation.setEmulatedMedia", media="print")
    assert desktop.evaluate("document.documentElement.scrollWidth") == PAPER[0]
    assert desktop.evaluate(INVISIBLE) == []
    desktop.call("Emulation.setEmulatedMedia", media="")


def test_folded_texts_are_opened_for_paper(desktop: Tab) -> None:
    folded = 'document.querySelectorAll("details:not([open])").length'
    assert desktop.evaluate(folded) > 0
    desktop.evaluate('dispatchEvent(new Event("beforeprint"))')
    assert desktop.evaluate(folded) == 0
    desktop.evaluate('dispatchEvent(new Event("afterprint"))')
    assert desktop.evaluate(folded) > 0
