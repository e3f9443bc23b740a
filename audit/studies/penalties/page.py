"""The page of the study of penalties (``studies.penalties.compute``)."""

from collections.abc import Iterable
from typing import Final

from audit.metrics.fairshare.penalty_rules import RULES, Witness
from audit.report.charts.style import Chart
from audit.report.study.page import Column, Columns, Section, Study, Table, table
from audit.studies.penalties import compute as penalties
from audit.studies.penalties.charts import surfaces
from audit.studies.penalties.compute import Figure, Judged, Problem

SOURCE: Final = (
    "[M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges."
)

_ASKED: Final = {
    1: "It depends on more than one resource.",
    2: "More of a resource costs more, also where another is used more (parts below 1).",
    3: "It is 1 if and only if all of some resource is used, and 0 if and only if nothing is.",
    4: "It is linear in the resource that is used most, and a λ-th of a request costs λ as much.",
    5: "Weights change it, and break no rule that it keeps without them.",
}

_HELD: Final = ("CPUs", "memory", "GPUs")


def study() -> Study:
    """The study of all penalties; it needs no log."""
    judged = penalties.judged()
    return Study(
        key="penalties",
        title="What a second of a job should cost",
        lead=_lead(judged),
        sections=(
            Section("The five rules", (_RULES, _asked(), _rules(judged), _IMPOSSIBLE, _LINE)),
            Section("What breaks them", (_BROKEN, _witnesses(judged))),
            Section("Surfaces", (_SURFACES, *(_chart(figure) for figure in penalties.FIGURES))),
            Section("Weights on a maximum", (_MAXIMA, _problems())),
            Section("One job or nine", (_SPLIT, _splitting())),
            Section("Who is charged for what", (_FORTNIGHT, _fortnight())),
            Section("Exempt resources", (_EXEMPT, _exempting())),
            Section("Errata", _ERRATA),
        ),
        settings=(
            ("Weights of CPUs and memory", "2 and 1 where the penalty has any"),
            ("Steps of a surface", str(penalties.STEPS)),
            (
                "The fortnight",
                f"{penalties.NODES} nodes of {penalties.NODE['cpus']} CPUs and "
                f"{penalties.NODE['mem_bytes'] // 2**30} GiB",
            ),
        ),
        sources=(SOURCE,),
    )


def _lead(judged: Iterable[Judged]) -> str:
    kept = {one.row.label: sum(verdict.kept for verdict in one.verdicts) for one in judged}
    most = max(kept.values())
    best = [label for label, number in kept.items() if number == most]
    none = "None of them keeps all five rules of fairness" if most < len(RULES) else "Some keep all"
    return (
        f"{len(kept)} ways to charge jobs for several resources. {none}; {', '.join(best)} "
        f"{'keep' if len(best) > 1 else 'keeps'} {most}. With cpu alone, who takes a node's whole "
        "memory and few of its processors is charged for the few."
    )


_RULES: Final = (
    "A penalty is what a second of a job costs, as a part of everything, from 0 to 1. It is made "
    "of the parts that the job holds of each resource. [M §3] asks five things of a fair one."
)


def _asked() -> Table:
    return Table(
        "asked",
        "What each rule asks of a penalty",
        (
            Column("Rule", "rule", "text"),
            Column("Name", "name", "text"),
            Column("A penalty keeps it if", "asks", "text"),
        ),
        tuple((str(rule), RULES[rule], words) for rule, words in _ASKED.items()),
    )


def _rules(judged: Iterable[Judged]) -> Table:
    def kept(rule: int) -> Column[Judged]:
        return Column(
            f"Rule {rule}", f"rule_{rule}", "yes_no", lambda one: one.verdicts[rule - 1].kept
        )

    columns: Columns[Judged] = (
        Column("Penalty", "penalty", "text", lambda one: one.row.label),
        Column(
            "In [M]", "formula", "text", lambda one: f"({one.row.formula})" * bool(one.row.formula)
        ),
        Column("Weights", "weights", "text", lambda one: _listed(one.row.weights)),
        *map(kept, RULES),
        Column("Symmetric line", "symmetric_line", "yes_no", lambda one: one.line.linear),
        Column("In Table 1", "in_table_1", "yes_no", lambda one: one.row.in_table_1),
    )
    return table(
        "rules",
        "Which rules each penalty keeps",
        columns,
        judged,
        note="Rules 1 to 4 with these weights of CPUs, memory (and GPUs); rule 5 with many. Pe is "
        "judged as a part of all processors, billing as a part of what the whole pool is billed.",
    )


def _listed(weights: Iterable[float]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)


_IMPOSSIBLE: Final = (
    "No penalty keeps rules 2, 3 and 4 at once. Let d be the part of the resource that is used "
    "most, n those of the others. By rule 4, P = a(n) + b(n) d, and since P of a λ-th is λ P, "
    "a(λn) = λ a(n) and b(λn) = b(n). By rule 3, P = 1 at d = 1, so a(n) + b(n) = 1 for all n; "
    "then λ a(n) + b(n) = 1 too, so a = 0, b = 1, and P = d: the maximum, which breaks rule 2."
)

_LINE: Final = (
    "Linear on the symmetric line is what [M §4] asks for in place of rule 4: who takes the same "
    "part t of everything is charged t, so splitting such a job gains nothing."
)

_BROKEN: Final = (
    "One witness for each rule that is broken: parts that are held, and the penalty there. Anybody "
    "can recompute it. Where no witness is found among some thousand points, the rule counts as "
    "kept."
)


def _witnesses(judged: Iterable[Judged]) -> Table:
    rows = [
        (row.label, str(verdict.rule), witness.says, *_where(witness))
        for row, verdicts, _ in judged
        for verdict in verdicts
        for witness in verdict.witnesses
    ]
    return Table(
        "witnesses",
        "What breaks each rule",
        (
            Column("Penalty", "penalty", "text"),
            Column("Rule", "rule", "text"),
            Column("It is", "says", "text"),
            Column("Weights", "weights", "text"),
            Column("Held → penalty", "where", "text"),
        ),
        tuple(rows),
        shown=len(rows),
    )


def _where(witness: Witness) -> tuple[str, str]:
    """The weights, and the points with their penalties."""
    points = [
        ", ".join(f"{name} {part:.6g}" for name, part in zip(_HELD, one.fractions, strict=False))
        + f" → {one.penalty:.6g}"
        for one in witness.samples
    ]
    weights = [_listed(one.weights) for one in witness.samples]
    return " and ".join(dict.fromkeys(weights)), "; ".join(points)


_SURFACES: Final = (
    "The penalty over the parts of a node's CPUs and memory, seen from the corner where nothing is "
    "used. Where the surface is flat in one direction, more of that resource costs nothing; where "
    "its far edges are below 1, who blocks a node does not pay for it."
)


def _chart(figure: Figure) -> Chart:
    def label(penalty: str, weights: tuple[float, float]) -> str:
        weighted = weights[0] != weights[1]
        return f"{penalty}, weights {weights[0]:g} and {weights[1]:g}" if weighted else penalty

    marked = " (black: where it must be 0 and 1, and the symmetric line)" if figure.marked else ""
    panels = {label(*form): penalties.surface(*form) for form in figure.panels}
    return surfaces(
        f"figure_{figure.number}",
        f"As [M] fig. {figure.number}: {' and '.join(panels)}{marked}",
        panels,
        marked=figure.marked,
    )


_MAXIMA: Final = (
    "A maximum can be weighted in two ways, and both fail [M §3.1]. Problem A: half of a dear "
    "resource costs as much as all of it. Problem B: all of a cheap one costs less than everything."
)


def _problems() -> Table:
    columns: Columns[Problem] = (
        Column("Problem", "problem", "text", lambda one: one.name),
        Column("Penalty", "penalty", "text"),
        Column("Weight, dear", "weight_dear", value=lambda one: one.weights[0]),
        Column("Weight, cheap", "weight_cheap", value=lambda one: one.weights[1]),
        Column("Dear held", "dear", "percent"),
        Column("Cheap held", "cheap", "percent"),
        Column("Charged", "charged"),
        Column("Rule 3 asks for", "asked", "text"),
    )
    return table(
        "problems",
        "Problems A and B, with [M]'s numbers",
        columns,
        penalties.PROBLEMS,
        note="max_scaled knows no problem A: its first row is as it should be.",
    )


_SPLIT: Final = (
    "Of 10 CPUs and 10 GB, 9 CPUs and 9 GB (or 1.8 GB) are taken by one job, or a ninth of that by "
    "each of nine. Where the two differ, splitting a job is cheaper, though it uses as much."
)


def _splitting() -> Table:
    return table(
        "splitting",
        "One job, or nine that together hold as much",
        (
            Column("Penalty", "penalty", "text"),
            Column("9 CPUs, 9 GB: one", "symmetric_one"),
            Column("nine in sum", "symmetric_nine"),
            Column("9 CPUs, 1.8 GB: one", "asymmetric_one"),
            Column("nine in sum", "asymmetric_nine"),
        ),
        penalties.splitting().iter_rows(named=True),
    )


_FORTNIGHT: Final = (
    "For a fortnight one user holds a node's memory with a tenth of its CPUs, as in [M] fig. 1, "
    "and another all CPUs of a second node with an eighth of its memory. Both nodes are closed to "
    "everybody else. Whose usage is it?"
)


def _fortnight() -> Table:
    return table(
        "fortnight",
        "Parts of all usage",
        (
            Column("Penalty", "penalty", "text"),
            Column("Who holds the memory", "memory", "percent"),
            Column("Who holds the CPUs", "processors", "percent"),
            Column("Moved against cpu", "moved", "percent"),
        ),
        penalties.charged(penalties.fortnight()).iter_rows(named=True),
        note="Moved: the part of all usage that is charged to others than by cpu. The report shows "
        "the same of a site's own log.",
    )


_EXEMPT: Final = (
    "Who takes all GPUs of a node leaves one that others can use, so rule 3 is too severe there "
    "[M §5]. An exempt resource costs as before while little of it is used, but all of it costs "
    "only its weight's part. On the symmetric line such a penalty lies below the line; all else "
    "that root keeps it keeps."
)


def _exempting() -> Table:
    return table(
        "exempt",
        "What GPUs alone cost, beside CPUs and memory",
        (
            Column("GPUs held", "gpus", "text", lambda row: f"{row['gpus']:.0%}"),
            Column("root", "root"),
            Column("root, GPUs exempt", "root_exempt", value=lambda row: row["exempt"]),
        ),
        penalties.exempting().iter_rows(named=True),
    )


_ERRATA: Final = (
    "[M]'s nine jobs or one refute formula (7) alone. Formula (8), which the product's row of "
    "Table 1 names, charges 0.9 either way; it breaks rule 4 because it bends in the resource that "
    "is used most.",
    "Table 1 says that the maximum keeps rule 4. It does in the resource that is used most, which "
    "is what the rule says here; along another resource it bends where that one overtakes.",
    "Rules 2 and 3 contradict each other where all of a resource is used: there the penalty is 1 "
    "and can grow no more. Rule 2 is therefore asked of parts below 1.",
)
