"""Files of evidence in the store: each statement once, compressed or not, and what is wrong."""

import gzip
from pathlib import Path

import pytest

from audit import periods
from audit.errors import UsageError
from audit.ingest import evidence
from audit.ingest.evidence import EvidenceFile
from audit.pipeline.opening import recorded_attempts
from audit.store import database, migrations
from audit.store.database import Connection
from audit.words import EvidenceKind

AT = 1_795_233_600
TABLE = "JOBID|STATE|REASON|PRIORITY|START_TIME\n7|PENDING|Dependency|12|N/A\n"


def taken(con: Connection, path: Path, text: str, at: int | None = None) -> str | None:
    path.write_text(text)
    file = EvidenceFile(EvidenceKind.SQUEUE, path)
    return evidence.take_in(con, "lab", file, "UTC", at)


def kept(con: Connection) -> list[tuple[object, ...]]:
    return database.rows(con, "SELECT epoch(instant)::BIGINT, job_id, reason FROM evidence")


def test_a_statement_counts_once(tmp_path: Path) -> None:
    with migrations.temporary() as con:
        assert taken(con, tmp_path / "a", f"{AT}\n{TABLE}") is None
        assert taken(con, tmp_path / "b", f"{AT}\n{TABLE}{AT + 10}\n{TABLE}") is None
        assert kept(con) == [(AT, "7", "Dependency"), (AT + 10, "7", "Dependency")]


def test_the_name_of_a_file_may_have_its_time(tmp_path: Path) -> None:
    with migrations.temporary() as con:
        assert taken(con, tmp_path / f"squeue_{AT}.txt", TABLE) is None
        assert [row[0] for row in kept(con)] == [AT]


def test_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(f"{AT}\n{TABLE}".encode()))
    with migrations.temporary() as con:
        evidence.take_in(con, "lab", EvidenceFile(EvidenceKind.SQUEUE, path), "UTC")
        assert len(kept(con)) == 1


def test_what_is_wrong_names_the_file_and_the_remedy(tmp_path: Path) -> None:
    with migrations.temporary() as con:
        nothing = taken(con, tmp_path / "a", "hello\n")
        assert nothing is not None
        assert nothing.startswith(str(tmp_path / "a"))
        assert "date +%s; squeue" in nothing
        some = taken(con, tmp_path / "b", f"{AT}\n{TABLE}damaged\n")
        assert some is not None
        assert "1 lines are left out" in some
        with pytest.raises(UsageError, match=r"cannot be read|no such file"):
            evidence.take_in(con, "lab", EvidenceFile(EvidenceKind.SQUEUE, tmp_path / "c"), "UTC")


def test_the_digest_tells_statements_apart_and_knows_no_order(tmp_path: Path) -> None:
    def digest(*texts: str) -> str | None:
        with migrations.temporary() as con:
            for text in texts:
                taken(con, tmp_path / "a", text)
            return evidence.digest(con, "lab")

    first, second = f"{AT}\n{TABLE}", f"{AT + 10}\n{TABLE}"
    assert digest() is None
    assert digest(first, second) == digest(second, first) != digest(first)
    with migrations.temporary() as con:
        taken(con, tmp_path / "a", first + second)
        assert evidence.digest(con, "lab", AT + 10) == digest(first)
        assert evidence.digest(con, "lab", AT) is None


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    hostile = TABLE.replace("Dependency", "<b>'; DROP TABLE evidence_record; --</b>")
    with migrations.temporary() as con:
        taken(con, tmp_path / "a", f"{AT}\n{hostile}")
        ((_, job, reason),) = kept(con)
        assert job == "7"
        assert "DROP" not in str(reason)


def test_attempts_without_evidence_are_those_of_the_store() -> None:
    with migrations.temporary() as con:
        assert recorded_attempts(con, "lab").is_empty()


def test_what_is_removed_leaves_the_digest_of_its_days(tmp_path: Path) -> None:
    zone = periods.zone("Europe/Berlin")
    day = periods.day_start(periods.day_of(AT, zone), zone)
    ends = [day + number * 86_400 for number in range(4)]
    log = "[2026-11-21T12:00:00.000] update_node: node n1 state set to DRAINED\n"
    with migrations.temporary() as con:
        for number, end in enumerate(ends):
            taken(con, tmp_path / f"{number}", f"{end - 5}\n{TABLE}{end + 5}\n{TABLE}")
        (tmp_path / "log").write_text(log)
        evidence.take_in(con, "lab", EvidenceFile(EvidenceKind.CTLD_LOG, tmp_path / "log"), "UTC")
        before = [evidence.digest(con, "lab", until) for until in (*ends[:-1], None)]
        count = len(kept(con))
        evidence.remove(con, "lab", zone, ends[1] + 3600)
        assert len(kept(con)) == count - 3
        assert evidence.about_nodes(con, "lab").height == 1
        assert [evidence.digest(con, "lab", until) for until in (*ends[:-1], None)] == before
        taken(con, tmp_path / "0", f"{ends[0] - 5}\n{TABLE}")  # the file is read again
        evidence.remove(con, "lab", zone, ends[1] + 7200)
        assert len(kept(con)) == count - 3
        evidence.remove(con, "other", zone, ends[3])
        evidence.remove(con, "lab", zone, ends[3] + 1)
        assert [row[0] for row in kept(con) if row[1]] == [ends[3] + 5]
        assert [evidence.digest(con, "lab", until) for until in (*ends[:-1], None)] == before
