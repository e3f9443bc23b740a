"""Writes ``docs/report/agreement.md``: how far rules agree with the starts of real logs.

Audits the public logs in the folder ``FAIRAUDIT_REAL_LOGS`` and both captures of a Slurm cluster.

    FAIRAUDIT_REAL_LOGS=… python -m bench.pages.agreement [FOLDER]

Results that are already in FOLDER are reused.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from audit.metrics.attempts.fidelity import MaySay
from bench.modern.captured import CAPTURES, Capture
from bench.modern.record import CLUSTERS
from bench.pages.waits import asked, fairaudit, table

PUBLIC = {
    "KTH-SP2": "swf/KTH-SP2-1996-2.1-cln.swf.gz",
    "LANL-CM5": "swf/LANL-CM5-1994-4.1-cln.swf.gz",
    "UniLu-Gaia": "swf/UniLu-Gaia-2014-1.swf.gz",
    "phillips": "slurm/xdmod-phillips.log.gz",
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "report" / "agreement.md"
LEAST = 50
"""Least number of jobs of a pool in the tables."""
CANDIDATES = """
    SELECT pool, "order" || '-' || backfill || if(own_peak, ', own peak', '') AS rule, value
    FROM fidelity WHERE metric = 'agreement'
"""
POOLS = """
    SELECT pool, metric, value FROM fidelity
    WHERE metric IN ('agreement_nodes', 'may_say')
    UNION ALL
    SELECT pool, metric, value FROM summary
    WHERE dimension = 'all' AND metric IN ('miss_delivered_share', 'miss_cautious_share')
    UNION ALL
    SELECT pool, 'jobs', count(*) FROM job_fairness GROUP BY pool
"""
SAY = {
    MaySay.POOL_AND_USERS: "pool and users",
    MaySay.PROBABLY: "pool within 6 points, users probably",
    MaySay.POOL: "pool, as two readings",
}
INTRODUCTION = """# Which rules agree with the observed starts

`python -m bench.pages.agreement` writes this page.

*Agreement* (A) compares the jobs that a rule would start, at each instant with starts, with those
that the site started. From 65 % on, the rule is known, and the report may name users. Between 30
and 65 %, it names users as "probably". Below 30 %, it describes the pool alone, and shows two
readings: *kept order*, and the *cautious* one, which takes jobs as held that their own user's later
jobs passed. Both are shares of all waiting that later arrivals caused.
"""
NODES = """
*By nodes* is the agreement of the configured policy where free nodes decide what fits. The two
captures are recordings of one Slurm cluster, which runs `multifactor` with backfilling. The goal of
85 % was not reached: nine in ten observed starts are chosen, but so are jobs that start later. Half
of the wrong choices are jobs that wait for a draining node, as `sacctmgr` dates a drain from the
end of the last job on the node. With slurmctld.log and squeue, the agreement is 72 and 76 %.
[decisions.md](../decisions.md) has the counts.
"""


def audited(name: str, log: Path, folder: Path, *options: object) -> dict[str, Path]:
    """Return the database of a log, by the name of the log."""
    database = folder / name / "audit.duckdb"
    if not database.exists():
        fairaudit("audit", log, "--out", database.parent, "--no-pdf", "--no-advice", *options)
    return {name: database}


def databases(folder: Path) -> dict[str, Path]:
    """Return the databases of all logs."""
    logs = Path(os.environ["FAIRAUDIT_REAL_LOGS"])
    found: dict[str, Path] = {}
    for name, place in PUBLIC.items():
        found |= audited(name, logs / place, folder)
    for name in CLUSTERS:
        site = folder / f"{name}-files"
        site.mkdir(exist_ok=True)
        Capture(CAPTURES / name).site(site)
        found |= audited(name, site / "sacct.txt", folder, "--config", site / "config.toml")
    return found


def percent(value: object) -> str:
    """Return a share, or a dash where it is not known."""
    return "–" if value is None else f"{100 * float(str(value)):.1f} %"


def by_pool(
    name: str, database: Path
) -> Iterator[tuple[str, dict[str, object], dict[str, object]]]:
    """Yield the name of each large pool, its figures, and the agreement of each candidate."""
    figures: dict[object, dict[str, object]] = {}
    for row in asked(database, POOLS):
        figures.setdefault(row["pool"], {})[str(row["metric"])] = row["value"]
    rules: dict[object, dict[str, object]] = {}
    for row in asked(database, CANDIDATES):
        rules.setdefault(row["pool"], {})[str(row["rule"])] = row["value"]
    for pool, of in figures.items():
        if pool in rules and float(str(of["jobs"])) >= LEAST:
            yield name if len(figures) == 1 else f"{name}, {pool}", of, rules[pool]


def best(rules: dict[str, object]) -> tuple[str, object]:
    """Return the candidate with the best agreement, the first of equal ones; or a dash."""
    known = [(rule, float(str(value))) for rule, value in rules.items() if value is not None]
    return max(known, key=lambda one: one[1], default=("–", None))


def page(pools: Iterable[tuple[str, dict[str, object], dict[str, object]]]) -> str:
    """Return the page."""
    found = list(pools)
    rows = [
        [
            *(title, f"{float(str(of['jobs'])):,.0f}", *_named(best(rules))),
            *(percent(of.get("agreement_nodes")), percent(of.get("miss_delivered_share"))),
            *(percent(of.get("miss_cautious_share")), _said(of.get("may_say"))),
        ]
        for title, of, rules in found
    ]
    header = ["log", "jobs", "best rule", "A", "by nodes", "delayed", "cautious", "may be said"]
    every = list(dict.fromkeys(rule for _, _, rules in found for rule in rules))
    of_rules = [[rule, *(percent(rules.get(rule)) for _, _, rules in found)] for rule in every]
    lines = [*table(header, rows), NODES.strip(), "", "## All candidates", ""]
    lines += table(["rule", *(title for title, _, _ in found)], of_rules)
    return f"{INTRODUCTION}\n{chr(10).join(lines)}"


def _named(one: tuple[str, object]) -> tuple[str, str]:
    return one[0], percent(one[1])


def _said(value: object) -> str:
    return "–" if value is None else SAY[MaySay(int(float(str(value))))]


def main() -> None:
    """Write the page."""
    chosen = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="fairaudit-agreement-")
    Path(chosen).mkdir(parents=True, exist_ok=True)
    made = [one for name, base in databases(Path(chosen)).items() for one in by_pool(name, base)]
    PAGE.write_text(page(made), encoding="utf-8")


if __name__ == "__main__":
    main()
