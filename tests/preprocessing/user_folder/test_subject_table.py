"""The table of a person's own folder, in the ways that people write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preprocessing.user_folder.names import FileNames
from preprocessing.user_folder.table import (
    SubjectLine,
    SubjectTable,
    SubjectTableError,
    read_sexes,
    read_subject_table,
    read_visits,
)
from storage.schema import Sex

RECORDINGS = ["a.edf", "sub/b.hea", "sub/c.edf"]
ROWS = [
    ("file", "subject", "visit", "sex", "age"),
    ("a.edf", "Jürgen", "1", "F", "44"),
    ("sub/b", "p2", "2", "M", "45"),
]


def write(path: Path, separator: str = ",", encoding: str = "utf-8") -> Path:
    path.write_bytes("\r\n".join(separator.join(row) for row in ROWS).encode(encoding))
    return path


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
def test_any_separator_and_encoding_is_read(tmp_path: Path, separator: str, encoding: str) -> None:
    table = read_subject_table(write(tmp_path / "subjects.csv", separator, encoding), RECORDINGS)
    assert table.lines["a.edf"] == SubjectLine("Jürgen", 1, None, Sex.FEMALE, 44)
    assert table.lines["sub/b.hea"].visit == 2


@pytest.mark.parametrize(
    "text", ["sub/b", "sub/b.hea", "sub/b.dat", "b.mat", "./sub/B.HEA", "sub\\b.dat", "/sub/b"]
)
def test_a_file_is_found_with_any_ending_or_none(text: str) -> None:
    assert FileNames(RECORDINGS).find(text) == "sub/b.hea"


@pytest.mark.parametrize("text", ["", "d.edf", "../a.edf", "b.txt"])
def test_a_name_that_means_no_recording_finds_none(text: str) -> None:
    assert FileNames(RECORDINGS).find(text) is None


@pytest.mark.parametrize(
    ("text", "same"),
    [("sub/b", True), ("Sub\\B.dat", True), ("b.hea", False), ("sub/c.hea", False)],
)
def test_a_table_of_events_means_a_file_by_its_path(text: str, same: bool) -> None:
    assert (FileNames(RECORDINGS).meant(text, anywhere=False) == ["sub/b.hea"]) is same


def test_a_name_that_could_mean_two_recordings_finds_none() -> None:
    assert FileNames(["x/a.edf", "y/a.edf"]).find("a.edf") is None


def test_other_names_of_columns_and_a_decimal_comma_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text("Filename;Patient ID;Session;Gender;Age\na.edf;p1;2;weiblich;63,5\n")
    line = read_subject_table(path, ["a.edf"]).lines["a.edf"]
    assert line == SubjectLine("p1", 2, None, Sex.FEMALE, 63.5)


@pytest.mark.parametrize(
    "head",
    ["Datei;Patient;Visite;Geschlecht;Alter", "Fichier;Sujet;Visite;Sexe;Âge",
     "Archivo;Paciente;Visita;Sexo;Edad"],
)  # fmt: skip
def test_names_of_columns_in_other_languages_are_understood(tmp_path: Path, head: str) -> None:
    (tmp_path / "subjects.csv").write_text(f"{head}\na.edf;p1;2;F;63,5\n")
    table = read_subject_table(tmp_path / "subjects.csv", ["a.edf"])
    assert table.lines["a.edf"] == SubjectLine("p1", 2, None, Sex.FEMALE, 63.5)
    assert table.warnings == []


def test_a_table_that_names_no_files_says_what_its_first_line_needs(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text("Tiedosto;Potilas\na.edf;Anna\n")
    table = read_subject_table(path, ["a.edf"])
    assert table.lines == {}
    assert table.warnings[-1].endswith("must name the columns file, subject, visit, sex, age")
    assert "Anna" not in "".join(table.warnings)


def test_rows_without_a_file_and_files_without_a_row_are_named(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text("file,subject,visit,sex,age\na.edf,p1,1,F,44\nnigth-1.edf,p2,1,F,44\n")
    said = "\n".join(read_subject_table(path, [*RECORDINGS, "night-1.edf"]).warnings)
    assert "1 row names no file here, line 3; did you mean 'night-1.edf'?" in said
    assert "3 recordings have no row and count as subjects of their own: sub/b.hea, sub/c" in said


def test_values_that_are_not_read_are_counted_and_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text("file,subject,visit,sex,age\na.edf,p1,-3,Anna,Smith\n")
    said = "\n".join(read_subject_table(path, ["a.edf"]).warnings)
    for what in ("visits that are not 1 to 10,000", "sexes that are not understood", "130 years"):
        assert f"{what}: 1, line 2" in said
    assert "Anna" not in said
    assert "Smith" not in said


def test_sexes_are_read_as_letters_numbers_and_words() -> None:
    sexes = read_sexes(["M", "f", "1", "2.0", "Male", "FEMALE", "frau", "", "x"])
    male, female = Sex.MALE, Sex.FEMALE
    assert sexes.values == [male, female, male, female, male, female, female, None, None]
    assert sexes.understood == "sex: 1, M, male = male (3); 2, F, female, frau = female (4)"
    assert sexes.unread == []


@pytest.mark.parametrize("codes", [["0", "1"], ["H", "M"]])
def test_codes_that_could_mean_either_sex_are_not_guessed(codes: list[str]) -> None:
    sexes = read_sexes(codes)
    assert sexes.values == [None, None]
    assert sexes.problem is not None


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["2", "1.0", ""], [2, 1, None]),
        (["baseline", "month 6", "baseline"], [1, 2, 1]),
        (["V2", "V1", "V2"], [2, 1, 2]),
        (["T0", "T1", "T0"], [1, 2, 1]),
        (["2020-03-05", "2019-01-02", "2021-07-01"], [2, 1, 1]),
        (["05.03.2020", "02.01.2019", "01.07.2021"], [2, 1, 1]),
        (["1", "follow-up", "1"], [1, 2, 1]),
    ],
)
def test_visits_are_numbered_by_number_name_or_date(
    texts: list[str], numbers: list[int | None]
) -> None:
    assert read_visits(texts, ["a", "a", "b"]).numbers == numbers


def test_names_of_visits_are_kept_unless_they_may_be_a_persons() -> None:
    texts = ["baseline", "Smith", "drug X", "drug X"]
    assert read_visits(texts, list("abcd")).names == ["baseline", None, "drug X", "drug X"]


def test_dates_of_visits_are_never_kept() -> None:
    visits = read_visits(["2019-01-02", "2019-01-02"], ["a", "b"])
    assert visits.names == [None, None]
    assert "2019" not in (visits.understood or "")


def test_a_file_in_a_folder_is_not_one_of_the_same_name_in_another() -> None:
    names = FileNames(["siteB/night.edf"])
    assert names.find("siteA/night.edf") is None
    assert names.find("night.edf") == "siteB/night.edf"


@pytest.mark.parametrize("other", ["baseline", "2", "05/40/2024"])
def test_dates_beside_something_else_are_refused(other: str) -> None:
    visits = read_visits(["05/20/2024", "01/20/2024", other], ["a", "a", "b"])
    assert visits.numbers == [None, None, None]
    assert "some visits are dates, and 1 not" in (visits.problem or "")


@pytest.mark.parametrize("missing", ["", "unknown", "TBD", "?"])
def test_a_missing_date_leaves_the_others_in_order(missing: str) -> None:
    visits = read_visits(["05/20/2024", "01/20/2024", missing], ["a", "a", "b"])
    assert visits.numbers == [2, 1, None]
    assert visits.problem is None


def test_a_name_with_the_ending_of_another_format_is_another_recording() -> None:
    names = FileNames(["night.hea", "other.edf"])
    assert names.find("night.edf") is None
    assert names.find("other.bdf") is None
    assert names.find("night.dat") == "night.hea"


@pytest.mark.parametrize(
    "text",
    [
        "file,subject,visit,sex,age,remark\na.edf,Smith, Ann,1,F,30\n",
        "file,name,subject,sex,age,remark\na.edf,Smith,Ann,P1,2,30\n",
    ],
)
def test_a_separator_in_a_value_is_noticed_where_a_last_column_is_empty(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(SubjectTableError, match="line 2: more fields than columns"):
        table_of(tmp_path, text)


def test_rows_of_one_file_may_write_the_same_in_two_ways(tmp_path: Path) -> None:
    text = "file;subject;sex;age\na.edf;P1;F;63,0\na.edf;P1;female;63\n"
    assert table_of(tmp_path, text).lines["a.edf"] == SubjectLine("P1", None, None, Sex.FEMALE, 63)
    with pytest.raises(SubjectTableError, match="2 and 3 name one file and differ in subject"):
        table_of(tmp_path, "file,subject\na.edf,9\na.edf,7\n")


def test_recordings_of_unknown_people_are_not_one_persons(tmp_path: Path) -> None:
    table = table_of(tmp_path, "file,subject\na.edf,unknown\nb.edf,n/a\nc.edf,P1\n")
    assert [table.lines[f"{name}.edf"].subject for name in "abc"] == [None, None, "P1"]


@pytest.mark.parametrize("name", ["patient-id", "Patient number", "subject.id", "patient  nr"])
def test_a_column_is_the_subject_however_its_words_are_joined(tmp_path: Path, name: str) -> None:
    table = table_of(tmp_path, f"file,id,{name}\na.edf,1,P1\nb.edf,2,P1\n")
    assert {line.subject for line in table.lines.values()} == {"P1"}


def table_of(tmp_path: Path, text: str) -> SubjectTable:
    path = tmp_path / "subjects.csv"
    path.write_text(text, encoding="utf-8")
    return read_subject_table(path, ["a.edf", "b.edf", "c.edf", "d.edf"])


@pytest.mark.parametrize(
    ("dates", "order", "visits"),
    [
        (["03/01/2020", "02/28/2020"], "month/day", [2, 1]),
        (["03/01/2020", "28/02/2020"], "day/month", [1, 2]),
        (["2020-03-01", "2020-02-28"], "year/month/day", [2, 1]),
        (["01/02/2020", "02/02/2020"], "either order", [1, 2]),
        (["05/20/24", "01/20/24"], "month/day", [2, 1]),
        (["20-May-2024", "20-Jan-2024"], "months as words", [2, 1]),
        (["3. März 24", "28. Feb 24"], "months as words", [2, 1]),
    ],
)
def test_dates_are_read_in_the_order_of_their_column(
    tmp_path: Path, dates: list[str], order: str, visits: list[int]
) -> None:
    rows = "".join(f"{file}.edf,p1,{day}\n" for file, day in zip("ab", dates, strict=True))
    table = table_of(tmp_path, f"file,patient,date\n{rows}")
    assert [table.lines[f"{file}.edf"].visit for file in "ab"] == visits
    columns = f"file = column file, subject = column patient, visit = column date ({order})"
    assert f"subjects.csv: {columns}" in table.understood


@pytest.mark.parametrize(
    ("dates", "problem"),
    [
        (["03/01/2020", "02/03/2020"], "may be day/month or month/day"),
        (["28/01/2020", "02/28/2020"], "two orders"),
    ],
)
def test_dates_that_nobody_can_order_are_refused(
    tmp_path: Path, dates: list[str], problem: str
) -> None:
    rows = "".join(f"{file}.edf,p1,{day}\n" for file, day in zip("ab", dates, strict=True))
    with pytest.raises(SubjectTableError, match=problem):
        table_of(tmp_path, f"file,patient,date\n{rows}")


def test_a_patient_is_the_subject_where_a_column_of_row_numbers_is_called_id(
    tmp_path: Path,
) -> None:
    table = table_of(tmp_path, "id,patient,file\n1,p1,a.edf\n2,p1,b.edf\n")
    assert {line.subject for line in table.lines.values()} == {"p1"}
    table = table_of(tmp_path, "id,file\n1,a.edf\n2,b.edf\n")
    assert [table.lines[file].subject for file in ("a.edf", "b.edf")] == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("file,subject,sex,age\na.edf,Doe, Jane,F,30\n", "line 2: more fields"),
        ("file,subject,subject\na.edf,p1,p2\n", "subject may be column 'subject' or column"),
        ("file,patient,participant\na.edf,p1,x\n", "may be column 'patient' or column 'partici"),
        ("file,subject\na.edf,p1\n\na.edf,p2\n", "lines 2 and 4 name one file and differ"),
        ("file,subject,sex\na.edf,p1,F\nb.edf,p1,M\n", "lines 2 and 3 give one subject two sex"),
    ],
)
def test_what_could_mix_up_people_is_an_error_with_line_numbers(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(SubjectTableError, match=problem) as error:
        table_of(tmp_path, text)
    assert "Jane" not in str(error.value)


def test_rows_and_columns_that_say_the_same_twice_are_no_error(tmp_path: Path) -> None:
    text = "file,patient,participant,sex\na.edf,p1,p1,F\na.edf,p1,p1,\nb.edf,p2,p2,M,,\n"
    table = table_of(tmp_path, text)
    assert table.lines["a.edf"] == SubjectLine("p1", None, None, Sex.FEMALE, None)
    assert table.lines["b.edf"].sex is Sex.MALE


def test_names_that_are_likely_one_person_are_listed(tmp_path: Path) -> None:
    text = "file,subject\na.edf,007\nb.edf,7\nc.edf,P1\nd.edf,p1\n"
    (warning,) = (w for w in table_of(tmp_path, text).warnings if "one person" in w)
    assert "'007' and '7'; 'P1' and 'p1'" in warning
    text = "file,subject\na.edf,9\nb.edf,9.0\nc.edf,10\n"
    assert "'9' and '9.0'" in " ".join(table_of(tmp_path, text).warnings)


def test_two_ways_to_write_an_accent_are_one_person(tmp_path: Path) -> None:
    table = table_of(tmp_path, "file,subject\na.edf,Ren\u00e9\nb.edf,Rene\u0301\n")
    assert {line.subject for line in table.lines.values()} == {"Ren\u00e9"}
