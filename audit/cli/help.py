"""Help of the commands: their groups, an example of each, its documentation, and the next step."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

AUDIT: Final = "Audit logs"
TRY: Final = "Try changes"
NIGHTLY: Final = "Audit each night"
KEEP: Final = "Query and maintain what is stored"
GROUPS: Final = (AUDIT, TRY, NIGHTLY, KEEP)


class CommandHelp(NamedTuple):
    """What the help of a command adds to its description and options."""

    group: str
    example: str
    page: str
    """Where it is described, in the folder docs."""
    next_step: str | None = None
    """What most users do next, printed at the end; None: nothing, or it depends on options."""


# fmt: off
HELP: Final[Mapping[str, CommandHelp]] = {
    "audit": CommandHelp(
        AUDIT, "fairaudit audit jobs.psv --out report", "first-report.md"),
    "explain": CommandHelp(
        AUDIT, "fairaudit explain 4711 jobs.psv", "report.md",
        "'fairaudit stuck' lists other jobs that wait or waited longer than similar ones"),
    "when": CommandHelp(
        AUDIT, "fairaudit when --cpus 64 --compare walltime=1h,4h", "when.md",
        "'fairaudit explain JOB' shows why a pending job waits"),
    "stuck": CommandHelp(
        AUDIT, "fairaudit stuck", "report.md",
        "'fairaudit explain JOB' shows why a job waited"),
    "sshare": CommandHelp(
        AUDIT, "fairaudit sshare --explain anna --want 0.5", "sshare.md"),
    "simulate": CommandHelp(
        TRY, "fairaudit simulate jobs.psv --order fcfs --backfill easy", "simulation.md",
        "'fairaudit whatif' shows who would gain or lose"),
    "whatif": CommandHelp(
        TRY, "fairaudit whatif jobs.psv --capacity +10", "simulation.md",
        "open the page; one change at a time shows more than several at once"),
    "fit-policy": CommandHelp(
        TRY, "fairaudit fit-policy jobs.psv --write config.toml", "fit-policy.md"),
    "experiment": CommandHelp(
        TRY, "fairaudit experiment grid jobs.swf", "studies/README.md"),
    "init": CommandHelp(
        NIGHTLY, "fairaudit init --slurm", "service.md"),
    "doctor": CommandHelp(
        NIGHTLY, "fairaudit doctor --config config.toml", "service.md"),
    "run": CommandHelp(NIGHTLY, "fairaudit run", "service.md"),
    "ingest": CommandHelp(NIGHTLY, "fairaudit ingest", "service.md"),
    "report": CommandHelp(NIGHTLY, "fairaudit report --user anna", "service.md"),
    "deliver": CommandHelp(NIGHTLY, "fairaudit deliver", "delivery.md"),
    "service": CommandHelp(NIGHTLY, "fairaudit service", "service.md"),
    "status": CommandHelp(NIGHTLY, "fairaudit status --check", "service.md"),
    "sql": CommandHelp(KEEP, 'fairaudit sql "SELECT * FROM verdicts"', "sql.md"),
    "refused": CommandHelp(KEEP, "fairaudit refused", "service.md"),
    "verify": CommandHelp(KEEP, "fairaudit verify fairaudit-out/report.html", "report.md"),
    "archive": CommandHelp(KEEP, "fairaudit archive", "service.md"),
    "backup": CommandHelp(KEEP, "fairaudit backup store.tar", "service.md"),
    "restore": CommandHelp(KEEP, "fairaudit restore store.tar", "service.md"),
    "erase": CommandHelp(KEEP, "fairaudit erase --user anna", "people.md"),
    "pseudonym": CommandHelp(KEEP, "fairaudit pseudonym --user anna", "people.md"),
}
# fmt: on
"""By command."""

EPILOG: Final = """\b
Example:
  sacct -a -X -D -P --format=ALL -S now-30days > jobs.psv
  fairaudit audit jobs.psv

Documentation: README.md and docs/, or 'man fairaudit'. \
'fairaudit COMMAND --help' has an example of each command."""


def epilog(command: str) -> str | None:
    """Return the text below the options of a command."""
    of = HELP.get(command)
    return of and f"\b\nExample: {of.example}\nDocumentation: docs/{of.page}"


def grouped_commands(names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the groups with their commands; those that are in none come last."""
    for group in GROUPS:
        yield group, [name for name in HELP if HELP[name].group == group and name in names]
    yield "Other commands", [name for name in names if name not in HELP]


def next_step(words: Sequence[str]) -> str | None:
    """Return what most users do after a command; None where it answers programs."""
    command = next((word for word in words if word in HELP), None)
    asked = {word for word in words if word.startswith("-")}
    if command is None or "json" in words or asked & {"--help", "--format=json"}:
        return None
    return HELP[command].next_step
