import csv
import io

from audit.report.render import export
from audit.spreadsheets import visible
from tests.report.sample import HOSTILE, contents, pool, without_fair_starts


def test_every_user_comes_back_in_full() -> None:
    part = pool(users=HOSTILE)
    rows = list(csv.reader(io.StringIO(export.table(part, part.users), newline="")))
    assert [row[0].removeprefix("'") for row in rows[1:]] == list(map(visible, HOSTILE))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert float(rows[1][6]) == 7_200.0


def test_files_of_several_pools_have_names_of_their_own() -> None:
    made = export.files(contents(pool("a"), pool("b")))
    names = [file.name for files in made.values() for file in files]
    assert len(set(names)) == len(names) == 6


def test_files_carry_misses_and_the_fidelity_of_the_model() -> None:
    part = pool()
    users, _, model = export.files(contents(part))["batch"]
    rows = list(csv.DictReader(io.StringIO(users.text, newline="")))
    assert rows[0]["miss_delivered_s"] == str(7_200 + 60 * 200)
    assert rows[0]["fst_attempts"] == "200"
    told = {row["metric"]: row for row in csv.DictReader(io.StringIO(model.text, newline=""))}
    assert told["start_error_p90"]["value"] == "7200.0"
    assert told["over_capacity_time"]["value"] == "0.0"
    assert told["agreement"]["order"] == "sjf"  # the last of the rules
    assert {row["order"] for row in told.values()} == {"fcfs", "sjf"}
    without = export.files(contents(without_fair_starts(part)))["batch"]
    assert [file.name for file in without] == ["users.csv", "accounts.csv"]
