"""All rows of the table."""

from __future__ import annotations

from tests.torture.bad_files import bad_edf, bad_wfdb, bad_xml
from tests.torture.doors import closed_doors
from tests.torture.full_disk import full_disk
from tests.torture.kills import durable_order, kill_in_preprocessing
from tests.torture.relations import RELATIONS, relation
from tests.torture.results import CHECKS, result
from tests.torture.row import Row
from tests.torture.scans import changed_source, meeting_pipelines, odd_names, soak
from tests.torture.servers import kill_process, without_server
from tests.torture.store_faults import flipped_bit, hostile_sql, index_held
from tests.torture.training import kill_a_rank, kill_in_training, kill_while_writing
from tests.torture.truth import planted_cohort

ROWS = (
    Row("kill-preprocess", "kill -9 of preprocess, at random moments and at named points", 200,
        "I1-I5", kill_in_preprocessing, weight=3),
    Row("durable-order", "order of fsync and rename", 5, "I1, I2", durable_order, weight=2),
    Row("kill-training", "kill -9 in training, and during a checkpoint write", 50, "I9",
        kill_in_training, weight=12),
    Row("kill-rank", "kill -9 of one rank under torchrun", 10, "I9", kill_a_rank, weight=40,
        in_tests=False),
    Row("kill-process", "kill -9 of a Dask worker, a flow, Prefect's server or a serve process, in "
        "start-up too", 60, "I3, I4, no orphans", kill_process, weight=40, in_tests=False),
    Row("no-server", "no network; a server that is not there, silent, broken, or lost", 12,
        "the data work completes", without_server, weight=40, in_tests=False),
    Row("kill-writing", "kill -9 while the report or the embeddings are written", 20,
        "old one intact, I10", kill_while_writing, weight=4),
    Row("full-disk", "full disk by kind of file, Prefect's database too; a read-only store", 21,
        "I1, I2, clear error, completes", full_disk, weight=20),
    Row("edf", "EDF: mutations, truncation, garbage, absurd calibration, huge counts", 3000,
        "I4, I7, equal to another reader", bad_edf, weight=0.3),
    Row("wfdb", "WFDB, Challenge .mat, label and subject tables: the same", 2000, "I4, I7",
        bad_wfdb, weight=0.3),
    Row("xml", "annotation XML: the same", 1000, "words or a scoring", bad_xml, weight=0.05),
    Row("truth", "cohorts of any format, rate, names and tables, each window known", 500,
        "index equal to what was planted", planted_cohort, weight=1),
    Row("relations", "one thing changed: a sample, a label, a row, a path, a setting, a version",
        len(RELATIONS), "what must change changes, the rest is equal", relation, weight=1),
    Row("results", "names of features, answers, evaluations and runs; windows of two chains",
        len(CHECKS), "each name has all that its content depends on", result, weight=1),
    Row("doors", "another page, another name, no password, at the server that commands start", 3,
        "nobody gets in", closed_doors, weight=12, in_tests=False),
    Row("sources", "source changed between runs, while being read, deleted, duplicated", 20,
        "only that recording is done again", changed_source, weight=8),
    Row("meeting", "two pipelines at once, lock of a dead process, clock moved, coarse times", 25,
        "I1, I6", meeting_pipelines, weight=3),
    Row("names", "odd names and links", 60, "I4, I11", odd_names, weight=1.5),
    Row("bit-flips", "one bit flipped in a window file, index, checkpoint, features, encoder", 100,
        "noticed before use", flipped_bit, weight=1.5),
    Row("index-held", "a user holds the index open, reading or writing, killed or closed", 20,
        "I6, index readable after", index_held, weight=4),
    Row("sql", "hostile SQL", 30, "refused or bounded", hostile_sql, weight=2),
    Row("soak", "refresh while files come, change and go, with readers, 15 minutes", 1,
        "I1-I6, memory and open files level", soak, weight=900, in_tests=False),
)  # fmt: skip
