"""Commands as sources: windows without gaps, late records, a small environment, nothing left."""

import json
import os
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import config, resources
from audit.config import places
from audit.errors import ConfigError, SourceError, UsageError
from audit.ingest import streams
from audit.nightly import sources
from audit.nightly.run import run
from audit.nightly.sources import SourceWindow
from audit.nightly.stages import Night, StoppedError
from audit.store import database
from tests.nightly.test_run import site

DAY = 86_400
ZONES = ("UTC", "Europe/Berlin", "America/Havana", "Asia/Kathmandu", "Pacific/Apia")
MIDNIGHT = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())


def source(*words: str, **more: object) -> config.SourceConfig:
    given_words = words or ("sacct", "--starttime={from}", "--endtime={to}")
    asked = any(name in word for word in given_words for name in config.PLACEHOLDERS)
    known = {"since": date(2026, 3, 1)} if asked else {}
    return config.SourceConfig.model_validate({"command": given_words, **known, **more})


# --- files


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    """With two links in a circle, ``glob`` would list 2 to the power of 40 folders."""
    year = tmp_path / "logs" / "2026"
    year.mkdir(parents=True)
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "old.log").touch()
    (year / "a.log").touch()
    (year / ".hidden").mkdir()
    (year / ".hidden" / "b.log").touch()
    for name in ("one", "two"):
        (year / name).symlink_to("..")
    (tmp_path / "logs" / "older").symlink_to(tmp_path / "archive")

    def found(pattern: str) -> list[str]:
        origin = config.SourceConfig.model_validate({"files": pattern})
        return [str(path.relative_to(tmp_path)) for path in sources.files(origin, tmp_path)]

    every = ["logs/2026/a.log", "logs/older/old.log"]
    for pattern in ("logs/**", "logs/**/*.log", "logs/**/**/*.log"):
        assert found(pattern) == every
    assert found("**/*.log") == ["archive/old.log", every[0]]
    assert found("logs/**/2026/*.log") == every[:1]
    assert found("logs/2026/*.log") == every[:1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make links of another user")
def test_a_link_of_another_user_to_a_folder_is_not_entered(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    link = tmp_path / "logs" / "link"
    link.symlink_to("/")
    os.chown(link, 65534, 65534, follow_symlinks=False)
    origin = config.SourceConfig.model_validate({"files": "logs/**"})
    assert sources.files(origin, tmp_path) == [link]
    with pytest.raises(UsageError, match="link: a link to a folder: name the folder"):
        streams.check_is_file(link)


def test_a_folder_that_cannot_be_entered_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records below it would be missing, and nothing would say so."""
    (tmp_path / "logs" / "closed").mkdir(parents=True)
    (tmp_path / "logs" / "a.log").touch()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "closed")
    for pattern in ("logs/**", "logs/**/*.log"):
        origin = config.SourceConfig.model_validate({"files": pattern})
        found = [path.name for path in sources.files(origin, tmp_path)]
        assert found == ["a.log", "closed"]
    with pytest.raises(UsageError, match=r"closed: cannot be read: Permission denied"):
        streams.check_is_file(tmp_path / "logs" / "closed")


def test_each_folder_is_examined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs" / "2026" / "03").mkdir(parents=True)
    examined: list[str] = []

    def may_enter(path: str, _: int) -> bool:
        examined.append(Path(path).name)
        return True

    monkeypatch.setattr(os, "access", may_enter)
    origin = config.SourceConfig.model_validate({"files": "logs/**/*.log"})
    assert sources.files(origin, tmp_path) == []
    assert examined == ["logs", "2026", "03"]


# --- windows


@given(
    st.sampled_from(ZONES),
    st.dates(date(2011, 12, 1), date(2027, 1, 1)),
    st.integers(1, 400 * DAY),
    st.integers(1, 40),
)
def test_windows_cover_all_time_once_and_their_edges_stay(
    zone: str, since: date, after: int, days: int
) -> None:
    asked = source(since=since, window_days=days)
    begin = int(datetime(since.year, since.month, since.day, tzinfo=ZoneInfo(zone)).timestamp())
    found = sources.windows(asked, zone, begin + after)
    assert found[0].from_time == begin
    assert found[-1].from_time < begin + after <= found[-1].to_time
    assert all(one.to_time == other.from_time for one, other in pairwise(found))
    assert sources.windows(asked, zone, begin + after + 90 * DAY)[: len(found)] == found
    # midnights, or what came instead where a clock leapt over one
    faces = [datetime.fromtimestamp(one.from_time, ZoneInfo(zone)) for one in found]
    assert [face.date() for face in faces] == [one.day for one in found]
    assert sources.windows(asked, zone, begin) == []


_nights = st.lists(st.integers(0, 30 * DAY), min_size=1, max_size=12).map(sorted)
_records = st.lists(st.tuples(st.integers(0, 25 * DAY), st.integers(0, 10 * DAY)), max_size=20)


@given(_nights, _records, st.integers(0, 9), st.integers(1, 9))
def test_no_record_is_missed_that_comes_within_the_overlap(
    nights: list[int], records: list[tuple[int, int]], overlap: int, days: int
) -> None:
    """Whenever runs are: the first one after a record has come, late or not, takes it in."""
    asked = source(overlap_days=overlap, window_days=days)
    records = [(at, min(late, overlap * DAY)) for at, late in records]
    pulled: dict[tuple[int, int], int] = {}
    taken: set[tuple[int, int]] = set()
    for after in nights:
        now = MIDNIGHT + after
        for window in sources.due(asked, "UTC", now, pulled):
            last = min(window.to_time, now)
            taken |= {
                (at, late)
                for at, late in records
                if window.from_time <= MIDNIGHT + at < last and at + late <= after
            }
            pulled[window.from_time, window.to_time] = now
        assert taken >= {(at, late) for at, late in records if at < after and at + late <= after}


def test_what_is_settled_is_not_requested_again() -> None:
    asked = source(overlap_days=2, window_days=1)
    now = MIDNIGHT + 10 * DAY + 3600
    pulled: dict[tuple[int, int], int] = {}
    first = sources.due(asked, "UTC", now, pulled)
    assert [window.day.day for window in first] == list(range(1, 12))
    pulled = {(window.from_time, window.to_time): now for window in first}
    tomorrow = sources.due(asked, "UTC", now + DAY, pulled)
    # the 8th ended two days before it was pulled; the 9th might still have changed
    assert [window.day.day for window in tomorrow] == [9, 10, 11, 12]


# --- words


def test_what_a_clock_that_was_ahead_pulled_is_requested_again() -> None:
    asked = source(overlap_days=2, window_days=1)
    now, ahead = MIDNIGHT + 3 * DAY, MIDNIGHT + 60 * DAY
    pulled = {
        (window.from_time, window.to_time): ahead for window in sources.due(asked, "UTC", ahead, {})
    }
    assert [window.day.day for window in sources.due(asked, "UTC", now + 1, pulled)] == [1, 2, 3, 4]
    assert sources.due(asked, "UTC", ahead, pulled) != sources.due(asked, "UTC", ahead, {})


def test_edges_are_written_in_the_clusters_zone_and_never_lie_ahead() -> None:
    asked = source("c", "{from}|{to}", "-S{from_epoch}", "{to_epoch}")
    window = SourceWindow(date(2026, 3, 29), 1_774_738_800, 1_774_821_600)  # of 23 hours in Berlin
    assert sources.words(asked, "Europe/Berlin", window) == [
        *("c", "2026-03-29T00:00:00|2026-03-30T00:00:00", "-S1774738800", "1774821600")
    ]
    at_noon = sources.words(asked, "Europe/Berlin", window, 1_774_778_400)
    assert at_noon[1] == "2026-03-29T00:00:00|2026-03-29T12:00:00"
    assert at_noon[3] == "1774778400"


def test_other_braces_are_left_alone() -> None:
    words = ("awk", "{print $1}", "{form} {from_} {}, { from }", "%s{0}")
    assert sources.words(source(*words), "UTC") == list(words)


def test_a_command_has_a_name_of_which_no_word_can_be_read() -> None:
    one = source("c", "{from}{to}", "secret")
    names = {
        sources.identify(one, "UTC"),
        sources.identify(one, "Europe/Berlin"),
        sources.identify(source("c", "{from}{to}", "other"), "UTC"),
        sources.identify(source("c", "{from}{to}secret"), "UTC"),
    }
    assert len(names) == 4
    assert all(len(name) == 16 for name in names)
    slower = source("c", "{from}{to}", "secret", timeout_s=9, overlap_days=1)
    assert sources.identify(slower, "UTC") == sources.identify(one, "UTC")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('command = ["c", "{from}"]\nsince = 2026-01-01', "a command with {from} needs {to}"),
        ('command = ["c", "{to_epoch}"]', "a command with {to} needs {from}; since is missing"),
        ('command = ["c", "-S{from}", "-E{to}"]', "since is missing: the first day"),
        ('command = ["c"]\nenvironment = ["A=b"]', "sources[0].environment[0]"),
        ('command = ["c"]\nwindow_days = 0', "window_days: Input should be greater than or equal"),
        ('command = ["c"]\noverlap_days = -1', "overlap_days: Input should be greater than or"),
        ('command = ["c"]\nwindow_hours = 1', "did you mean clusters[0].sources[0].window_days?"),
    ],
)
def test_mistakes_are_stated_by_key_path(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(f'[[clusters]]\nname = "c"\n[[clusters.sources]]\n{text}\n')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert said in str(caught.value)
    assert "clusters[0].sources[0]" in str(caught.value)


# --- what a command sees, and how it ends


def output(asked: config.SourceConfig, folder: Path, zone: str = "UTC") -> str:
    with sources.printed(asked, folder, folder / "state" / "spool", zone) as path:
        text = path.read_text()
    assert not path.exists()
    return text


def test_it_sees_the_clusters_zone_and_little_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRAUDIT_SMTP_PASSWORD", "hunter2")
    monkeypatch.setenv("SLURM_TIME_FORMAT", "relative")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/other.conf")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    show = (sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
    seen = json.loads(output(source(*show), tmp_path, "Europe/Berlin"))
    seen.pop("LC_CTYPE", None)  # Python's own doing
    assert seen["TZ"] == "Europe/Berlin"
    assert seen["SLURM_CONF"] == "/etc/slurm/other.conf"
    assert seen["PATH"] == os.environ["PATH"]
    assert set(seen) <= {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SLURM_CONF", "TZ")
    }
    named = source(*show, environment=("SSH_AUTH_SOCK", "NOT_SET", "TZ"))
    more = json.loads(output(named, tmp_path, "Europe/Berlin"))
    assert more["SSH_AUTH_SOCK"] == "/run/agent"
    assert more["TZ"] == "Asia/Tokyo"  # who names it means it
    assert "NOT_SET" not in more


def test_times_are_printed_in_the_clusters_zone(tmp_path: Path) -> None:
    shows = ("date", "--date=@1774778400", "+%FT%T")
    assert output(source(*shows), tmp_path, "Europe/Berlin") == "2026-03-29T12:00:00\n"
    assert output(source(*shows), tmp_path, "UTC") == "2026-03-29T10:00:00\n"


def test_a_zone_that_the_system_does_not_know_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoneinfo.TZPATH", ())
    with pytest.raises(SourceError, match="does not know the time zone Europe/Berlin"):
        output(source("date"), tmp_path, "Europe/Berlin")
    assert output(source("date"), tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sh", "-c", "kill -TERM $$"), "command 'sh' failed with signal 15"),
        (("no-such-program",), "command 'no-such-program' cannot be run: No such file"),
        (("cat", "a\0b"), "command 'cat' cannot be run: embedded null byte"),
        (("sh", "-c", "yes wrong | head -c 99999 >&2; exit 7"), "failed with exit code 7: "),
        (("false",), "exit code 1, and printed no error; run it by hand"),
    ],
)
def test_failures_are_stated_and_leave_nothing(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SourceError, match="command") as caught:
        output(source(*words), tmp_path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600
    assert list((tmp_path / "state").iterdir()) == []


FAMILY = (
    "trap '' TERM INT HUP; (trap '' TERM; while :; do sleep 0.1; done) & echo $$ $! > pids; wait"
)
"""Children of children, none of which heeds a polite request."""


@contextmanager
def family(folder: Path) -> Iterator[None]:
    """All that ``FAMILY`` started must be gone when the block ends."""
    yield
    pids = [int(pid) for pid in (folder / "pids").read_text().split()]
    assert len(pids) == 2
    for pid in pids:
        for _ in range(100):
            if not _is_alive(pid):
                break
            time.sleep(0.05)
        assert not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    slow = source("sh", "-c", FAMILY, timeout_s=1)
    with family(tmp_path), pytest.raises(SourceError, match="'sh' took longer than 1 s"):
        output(slow, tmp_path)
    assert list((tmp_path / "state").iterdir()) == []


def test_a_run_that_is_stopped_does_not_wait_for_it(tmp_path: Path) -> None:
    def stopped() -> bool:
        return (tmp_path / "pids").exists()

    settings = site(tmp_path, sources=({"command": ("sh", "-c", FAMILY), "timeout_s": 600},))
    with family(tmp_path), pytest.raises(StoppedError):
        run(places.Site(settings, tmp_path), MIDNIGHT, stopping=stopped)
    assert list((tmp_path / "fairaudit-state").glob("*.log")) == []


def test_an_error_of_the_reader_is_not_blamed_on_the_command(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match="mine"),
        sources.printed(source("true"), tmp_path, tmp_path / "spool"),
    ):
        raise OSError("mine")
    assert not (tmp_path / "spool").exists()


# --- nights

SACCT = '''\
"""Prints, of the jobs in jobs.json, those that sacct --state would: ended within, or open."""
import json, sys
from datetime import datetime
first, last = (datetime.fromisoformat(word).timestamp() for word in sys.argv[1:3])
with open("asked.txt", "a") as log:
    print(sys.argv[1][:10], file=log)
if sys.argv[1].startswith(open("broken.txt").read() or "never"):
    sys.exit("no connection")
def text(instant):
    return "Unknown" if instant is None else datetime.fromtimestamp(instant).isoformat()
print("JobID|User|Account|State|Submit|Eligible|Start|End|AllocCPUS")
for job, (submit, start, end) in json.load(open("jobs.json")).items():
    within = first <= end < last if end is not None else submit < last
    if within:
        state = "COMPLETED" if end is not None else "PENDING" if start is None else "RUNNING"
        times = [text(submit), text(submit), text(start), text(end)]
        print(job, "ann", "phys", state, *times, 2, sep="|")
'''
Jobs = Mapping[str, tuple[int, int | None, int | None]]


class Site:
    """A cluster in Berlin whose ``sacct`` is a script that prints given jobs."""

    def __init__(self, folder: Path, **more: object) -> None:
        self.folder = folder
        (folder / "sacct.py").write_text(SACCT)
        (folder / "broken.txt").write_text("")
        self.jobs({})
        words = (sys.executable, "sacct.py", "{from}", "{to}")
        self.source = {"command": words, "since": date(2026, 3, 27), **more}

    def jobs(self, jobs: Jobs) -> None:
        (self.folder / "jobs.json").write_text(json.dumps(jobs))

    def night(self, now: int) -> tuple[Night, list[int]]:
        """A run, and the days of the month that the command was asked for."""
        asked = self.folder / "asked.txt"
        asked.write_text("")
        where = places.Site(site(self.folder, sources=(self.source,)), self.folder)
        done = run(where, now, stages=("ingest",))
        return done, [int(line[8:]) for line in asked.read_text().splitlines()]

    def attempts(self) -> list[tuple[object, ...]]:
        columns = "job_id, attempt, state, start_time, end_time"
        sql = f"SELECT {columns} FROM records WHERE NOT superseded ORDER BY job_number"
        with closing(database.open_store(self.folder / "fairaudit-state" / "store.duckdb")) as con:
            return database.rows(con, sql)


BERLIN = 1_774_566_000  # 2026-03-27 00:00; on the 29th clocks leap forward


@pytest.mark.thorough
def test_windows_night_after_night(tmp_path: Path) -> None:
    lab = Site(tmp_path, overlap_days=1)
    first = BERLIN + 3600
    long = (first, first + 60, None)
    lab.jobs({"1": (first, first + 1, first + 9), "2": long, "3": (first + 5, None, None)})

    done, asked = lab.night(BERLIN + 2 * DAY + 7200)  # the 29th, 02:00
    assert done.failures == []
    assert asked == [27, 28, 29]
    ended = ("1", 1, "COMPLETED", first + 1, first + 9)
    waiting = ("3", 1, "PENDING", None, None)
    assert lab.attempts() == [ended, ("2", 1, "RUNNING", first + 60, None), waiting]

    again, asked = lab.night(BERLIN + 2 * DAY + 7300)
    assert asked == [28, 29]  # the 27th had ended a day before
    assert again.read == []  # the same was printed

    # the long job has ended on the 30th; job 9 ended on the 28th, but its record is late
    end = BERLIN + 3 * DAY + 7200
    late = BERLIN + DAY + 100
    now = {"2": (*long[:2], end), "3": (first + 5, end + 1, None), "9": (late, late, late + 1)}
    lab.jobs({"1": (first, first + 1, first + 9), **now})
    done, asked = lab.night(end + 10)
    assert asked == [28, 29, 30]
    assert done.failures == []
    assert lab.attempts() == [
        ended,
        ("2", 1, "COMPLETED", first + 60, end),
        ("3", 1, "RUNNING", end + 1, None),
        ("9", 1, "COMPLETED", late, late + 1),
    ]


def test_an_idle_window_is_no_empty_log(tmp_path: Path) -> None:
    lab = Site(tmp_path)
    done, asked = lab.night(BERLIN + 3 * DAY - 3600)
    assert asked == [27, 28, 29]
    assert done.failures == []
    assert done.read == []


@pytest.mark.thorough
def test_a_window_that_fails_is_requested_again_with_those_after_it(tmp_path: Path) -> None:
    lab = Site(tmp_path, overlap_days=0)
    noons = {str(day): BERLIN + day * DAY + DAY // 2 for day in range(4)}
    lab.jobs({job: (noon, noon, noon + 60) for job, noon in noons.items()})
    (tmp_path / "broken.txt").write_text("2026-03-29")
    done, asked = lab.night(BERLIN + 4 * DAY - 3600)
    (failure,) = done.failures
    assert isinstance(failure, SourceError)
    assert "for 2026-03-29 failed with exit code 1: no connection" in str(failure)
    assert asked == [27, 28, 29]
    assert [job for job, *_ in lab.attempts()] == ["0", "1"]
    (tmp_path / "broken.txt").write_text("")
    done, asked = lab.night(BERLIN + 4 * DAY - 3600)
    assert asked == [29, 30]
    assert done.failures == []
    assert [job for job, *_ in lab.attempts()] == ["0", "1", "2", "3"]


def test_another_command_reads_everything_again(tmp_path: Path) -> None:
    lab = Site(tmp_path, overlap_days=0)
    assert lab.night(BERLIN + 2 * DAY)[1] == [27, 28]
    assert lab.night(BERLIN + 2 * DAY)[1] == []
    words = lab.source["command"]
    assert isinstance(words, tuple)
    lab.source["command"] = (*words, "more")
    assert lab.night(BERLIN + 2 * DAY)[1] == [27, 28]


def test_a_window_that_is_no_log_stops_no_other(tmp_path: Path) -> None:
    lab = Site(tmp_path, overlap_days=0)
    at = BERLIN + DAY + 60
    lab.jobs({"1": (at, at, at + 60)})
    script = (tmp_path / "sacct.py").read_text()
    spoilt = "if '2026-03-27' in sys.argv[1]:\n    sys.exit(print('?'))\ndef text"
    (tmp_path / "sacct.py").write_text(script.replace("def text", spoilt))
    done, asked = lab.night(BERLIN + 2 * DAY)
    assert asked == [27, 28]
    assert [failure.exit_code for failure in done.failures] == [2]
    assert "c-0-2026-03-27.log" in str(done.failures[0])
    assert [job for job, *_ in lab.attempts()] == ["1"]
    (tmp_path / "sacct.py").write_text(script)
    assert lab.night(BERLIN + 2 * DAY)[1] == [27]


def test_the_shipped_example_is_a_command_in_windows() -> None:
    lines = resources.path("config.toml").read_text(encoding="utf-8").splitlines()
    begin = lines.index("# command = [")
    shown = [line.removeprefix("# ") for line in lines[begin : lines.index("# ]", begin) + 1]]
    command = tomllib.loads("\n".join(shown))["command"]
    found = config.SourceConfig(command=tuple(command), since=date(2026, 1, 1))
    filled = sources.words(found, "UTC", SourceWindow(date(2026, 3, 1), MIDNIGHT, MIDNIGHT + DAY))
    assert "--starttime=2026-03-01T00:00:00" in filled
    assert "--endtime=2026-03-02T00:00:00" in filled
    assert "--delimiter=\x1f" in filled
