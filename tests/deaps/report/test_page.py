"""The page: whole, safe, the same every time."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from deaps.evaluation.document import Evaluation, read_evaluation, write_evaluation
from deaps.report import write_report
from deaps.report.page import script_json
from tests.deaps.report.made_evaluation import ABSENT, LABELS, NOT_RUN

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
VOID = {"meta", "link", "br", "img", "input", "hr"}
DRAWN = {"path", "use", "rect", "circle"}


class Elements(HTMLParser):
    """Elements of a page with their attributes; tags that do not match are collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.all: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.mismatches: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mismatches.append(f"{tag} at {self.getpos()}")

    def values(self, attribute: str) -> list[str]:
        return [attrs[attribute] or "" for _, attrs in self.all if attribute in attrs]


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


@pytest.fixture(scope="module")
def small(evaluation: Evaluation) -> Evaluation:
    """Return the made evaluation without the parts that take long to draw."""
    return evaluation.model_copy(update={"pca": (), "training": (), "evolution": ()})


def hostile(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation all of whose names and captions try to break out."""
    text = evaluation.model_dump_json()
    for word in (*LABELS.values(), "MIT-ARR", "Challenge 2017", "Excellent", "afpdb", "preprocess"):
        text = text.replace(f'"{word}', f'"{word} {HOSTILE}'.replace('"><', '\\"><'))
    changed = Evaluation.model_validate_json(text)
    labels = tuple(f"{one} {HOSTILE}" for one in changed.map.label) if changed.map else ()
    windows = changed.map.model_copy(update={"label": labels}) if changed.map else None
    return changed.model_copy(update={"title": HOSTILE, "absent": (HOSTILE,), "map": windows})


def test_every_element_is_closed(elements: Elements) -> None:
    assert elements.mismatches == []
    assert elements.open == []


def test_no_id_occurs_twice_and_every_reference_is_met(elements: Elements, page: str) -> None:
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    links = {one[1:] for one in elements.values("href") if one.startswith("#")}
    references = links | set(re.findall(r"url\(#([^)]+)\)", page))
    assert references <= set(ids)


def test_page_loads_nothing(elements: Elements, page: str) -> None:
    loads = elements.values("src") + elements.values("srcset") + elements.values("href")
    assert all(one.startswith(("#", "data:")) for one in loads)
    assert "@import" not in page
    assert all(one.startswith("#") for one in re.findall(r"url\(\s*['\"]?([^)'\"]*)", page))
    assert "http://" not in page
    assert "https://" not in page


def test_contents_name_every_section(elements: Elements) -> None:
    sections = [attrs["id"] for tag, attrs in elements.all if tag == "section"]
    skip_link, *contents = [
        link[1:]
        for link in elements.values("href")
        if link.startswith("#") and link[1:] in sections
    ]
    assert skip_link == "summary"
    assert len(sections) > 10
    assert contents == sections


def test_every_drawing_says_what_it_shows(elements: Elements) -> None:
    drawings = [attrs for tag, attrs in elements.all if tag == "svg"]
    shown = [attrs for attrs in drawings if attrs.get("aria-hidden") != "true"]
    assert len(shown) > 50
    assert all(attrs.get("role") == "img" and attrs.get("aria-label") for attrs in shown)
    # A sign is hidden from screen readers because its words stand beside it in the legend.
    assert {attrs["class"] for attrs in drawings if attrs not in shown} == {"sign"}


def test_every_figure_has_a_caption(page: str) -> None:
    unfolded = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert unfolded.count("<figure") == unfolded.count("<figcaption") > 30


def test_drawings_have_no_colour_of_their_own(page: str) -> None:
    drawings = re.findall(r"<svg class=\"(?:plot|sign)\".*?</svg>", page, flags=re.DOTALL)
    assert len(drawings) > 100
    assert re.findall(r"#[0-9a-f]{6}\b|rgba?\(", "".join(drawings)) == []


def test_reason_of_a_benchmark_not_run_and_the_absent_list_are_in_the_page(page: str) -> None:
    # In the summary's table, in the benchmark's own section and in the list of what is absent.
    assert page.count(NOT_RUN) == 3
    assert all(reason in page for reason in ABSENT)


def test_best_is_marked_by_more_than_colour(page: str) -> None:
    assert re.search(r"<b>[\d.]+</b><span class=\"mark\"[^>]*>★", page)


def test_texts_cannot_become_markup(small: Evaluation, tmp_path: Path, elements: Elements) -> None:
    text = write_report(hostile(small), tmp_path).read_text()
    assert HOSTILE not in text
    attacked = Elements(text)
    assert attacked.mismatches == []
    tags = [tag for tag, _ in attacked.all]
    assert set(tags) <= {tag for tag, _ in elements.all}
    assert tags.count("script") == 2
    assert not [name for _, attrs in attacked.all for name in attrs if name.startswith("on")]


def test_json_in_a_script_cannot_end_it() -> None:
    assert "<" not in script_json({"label": "</script><!--"})


def test_same_evaluation_gives_the_same_bytes_in_another_process(
    evaluation: Evaluation, page_path: Path, tmp_path: Path
) -> None:
    write_evaluation(evaluation, tmp_path)
    code = (
        "import sys; from pathlib import Path;"
        "from deaps.evaluation.document import read_evaluation;"
        "from deaps.report import write_report;"
        "folder = Path(sys.argv[1]); write_report(read_evaluation(folder), folder)"
    )
    environment = {"PYTHONHASHSEED": "12345", "PATH": ""}
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True, env=environment, cwd=root)
    for name in ("index.html", "report.md"):
        assert (tmp_path / name).read_bytes() == page_path.with_name(name).read_bytes()


def test_evaluation_is_the_same_after_writing_and_reading(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    write_evaluation(evaluation, tmp_path)
    assert read_evaluation(tmp_path) == evaluation


def test_page_stays_light(page_path: Path) -> None:
    assert page_path.stat().st_size < 2_000_000


@pytest.mark.parametrize("kept", ["nothing", "one method"])
def test_small_evaluations_give_a_page(evaluation: Evaluation, tmp_path: Path, kept: str) -> None:
    few = evaluation.representations[: 0 if kept == "nothing" else 1]
    names = {one.name for one in few}
    benchmarks = tuple(
        one.model_copy(
            update={"outcomes": tuple(o for o in one.outcomes if o.representation in names)}
        )
        for one in evaluation.benchmarks
    )
    small = Evaluation(
        id="1",
        title="Small",
        representations=few,
        benchmarks=benchmarks,
        provenance=evaluation.provenance,
    )
    elements = Elements(write_report(small, tmp_path).read_text())
    assert elements.mismatches == []
    assert elements.open == []


def test_synthetic_data_are_named_above_the_page_and_in_its_title(
    small: Evaluation, tmp_path: Path
) -> None:
    made = small.model_copy(update={"synthetic": ("shhs",), "datasets": {"shhs": "SHHS"}})
    text = write_report(made, tmp_path).read_text()
    assert "(synthetic data)</title>" in text
    assert "(synthetic data)</h1>" in text
    assert '@top-right { content: "Synthetic data"' in text  # on every printed page
    assert "Synthetic data: SHHS is made by deaps synth, and no person was recorded." in text
    markdown = (tmp_path / "report.md").read_text()
    assert markdown.splitlines()[0].endswith("(synthetic data)")
    assert "> **Synthetic data: SHHS is made" in markdown
