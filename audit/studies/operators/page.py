"""The page of the study of priority operators (``compute``)."""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operator_rules import RULES, Sample, Witness
from audit.metrics.fairshare.operators import OPERATORS
from audit.report.study.page import Column, Columns, Section, Study, Table, table
from audit.report.text import wording
from audit.studies.operators import resolution_page
from audit.studies.operators.compute import job_size, rules
from audit.studies.operators.compute.job_size import Progress
from audit.studies.operators.compute.resolution import Setting
from audit.studies.operators.compute.rules import Judged
from audit.studies.operators.resolution_page import AREA_NAMES

SOURCE: Final = (
    "[R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling."
)

_FORMULAS: Final[Mapping[str, tuple[str, str]]] = {
    "absolute": ("5", "t − s"),
    "relative": ("6", "d"),
    "relative_n": ("7", "sign(d) · |d|²"),
    "sigmoid": ("8", "sin(π/2 · d)"),
    "sigmoid_n": ("9", "sign(d) · √|sin(π/2 · d)|"),
    "combined": ("10", "½ (t − s) + ½ sign(d) · |d|²"),
    "slurm": ("12", "2^(1 − s/t) − 1"),
}


def study(setting: Setting, on_progress: Progress = lambda what, done, of: None) -> Study:
    """The study of all operators; it needs no log. ``setting`` is that of the job sizes."""
    judged = rules.conformance()
    alike = rules.equivalence()
    sizes = job_size.job_sizes(setting, on_progress)
    needed = job_size.bits_needed(sizes, setting.job_hours)
    beside = job_size.beside_printed(needed)
    return Study(
        key="operators",
        title="Priority operators",
        lead=_lead(judged, beside, setting),
        sections=(
            Section("The operators", (_OPERATORS, _formulas())),
            Section(
                "What an operator must keep",
                (_RULES, _conformance(judged), _broken(judged), _boundaries()),
            ),
            Section("Who comes first", (_ORDER, _equivalence(alike), _unlike(alike))),
            *resolution_page.sections(setting, sizes, beside, needed),
            Section("Errata", _ERRATA),
        ),
        settings=(
            ("Bits", f"{min(setting.bits)} to {max(setting.bits)}"),
            ("Targets", ", ".join(f"{target:g}" for target in setting.targets)),
            *(
                (f"Priorities {AREA_NAMES[area]}", f"{_signed(low)} to {_signed(high)}")
                for area, (low, high) in setting.areas.items()
            ),
            ("Used in the window", f"{wording.count(setting.used_hours)} resource-hours"),
            ("Job", f"{wording.count(setting.job_hours)} resource-hours"),
            ("n of the exponential operators", "2"),
            ("k of combined", "0.5"),
        ),
        sources=(SOURCE,),
    )


def _lead(judged: Iterable[Judged], beside: pl.DataFrame, setting: Setting) -> str:
    # (13) is broken by every operator that keeps (4): it is no fault of theirs.
    keeping = [
        name
        for name, verdicts in judged
        if all(verdict.kept for verdict in verdicts if verdict.rule != "edges")
    ]
    others = [name for name in OPERATORS if name not in keeping]
    same = beside.filter(pl.col("area") != "overall")
    equal = same.filter(pl.col("difference") == 0).height
    verb = "agrees" if equal == 1 else "agree"
    return (
        f"Of {len(OPERATORS)} operators, {', '.join(keeping)} keep all that [R] asks for, and put "
        f"users in the same order; {' and '.join(others)} do neither. How many bits a job of "
        f"{wording.count(setting.job_hours)} hours needs to change a priority does not follow from "
        f"the paper's formulas as printed: {equal} of {same.height} figures {verb}."
    )


# --- the operators -------------------------------------------------------------------------------

_OPERATORS: Final = (
    "An operator F(t, s) says how far the state s of an account or user is from its target t; both "
    "are parts of what its siblings share, from 0 to 1. It is 0 at balance, and greater for who "
    "used less. In the formulas d is the relative distance: (t − s)/t below the target, "
    "−(s − t)/s above it."
)


def _formulas() -> Table:
    columns: Columns[str] = (
        Column("Operator", "operator", "text", lambda name: name),
        Column("In [R]", "number", "text", lambda name: f"({_FORMULAS[name][0]})"),
        Column("Formula", "formula", "text", lambda name: _FORMULAS[name][1]),
        _at("below_target", 0.5, 0.25),
        _at("above_target", 0.25, 0.5),
    )
    return table("formulas", "The operators", columns, _FORMULAS)


def _at(name: str, target: float, state: float) -> Column[str]:
    """The priority that an operator gives a state."""
    return Column(
        f"F({target:g}, {state:g})",
        name,
        value=lambda operator: float(operators.priority(operator, target, state)),
    )


# --- conformance ---------------------------------------------------------------------------------

_RULES: Final = (
    "Each rule is decided by a checker that looks for points that break it; numbers are those of "
    "[R]'s equations. A rule is kept where none is found. Subgroup isolation needs no check: "
    "targets and states are parts of what siblings share, and an operator knows nothing else."
)


def _conformance(judged: Iterable[Judged]) -> Table:
    kept = {(name, one.rule): one.kept for name, verdicts in judged for one in verdicts}
    return Table(
        "conformance",
        "Which rules each operator keeps",
        (Column("Rule", "rule", "text"), *(Column(name, name, "yes_no") for name in OPERATORS)),
        tuple((text, *(kept[name, rule] for name in OPERATORS)) for rule, text in RULES.items()),
        note="Nothing can keep (4) and (13) both: at state 0 (4) asks for 1, whatever the target.",
    )


def _broken(judged: Iterable[Judged]) -> Table:
    return Table(
        "witnesses",
        "What breaks each rule",
        (
            Column("Operator", "operator", "text"),
            Column("Rule", "rule", "text"),
            Column("It is", "says", "text"),
            Column("Target, state → priority", "where", "text"),
        ),
        tuple(
            (name, RULES[verdict.rule], verdict.witness.says, _where(verdict.witness))
            for name, verdicts in judged
            for verdict in verdicts
            if verdict.witness is not None
        ),
        note="Of (15): both siblings with their virtual targets, then with their own.",
    )


def _where(witness: Witness) -> str:
    return "; ".join(
        f"{one.target:.4g}, {one.state:.4g} → {_signed(one.priority)}" for one in witness.samples
    )


def _signed(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _boundaries() -> Table:
    return table(
        "boundaries",
        "At target 0, and at state 0 ([R] Table 1)",
        (
            Column("Operator", "operator", "text"),
            Column("x", "at"),
            Column("F(0, x)", "at_target_0"),
            Column("F(x, 0)", "at_state_0"),
            Column("Printed, t = 0", "printed_target_0", "text"),
            Column("Printed, s = 0", "printed_state_0", "text"),
            Column("Agrees", "agrees", "yes_no"),
        ),
        rules.boundaries().iter_rows(named=True),
    )


# --- order ---------------------------------------------------------------------------------------

_ORDER: Final = (
    "What counts in a queue is the order of users, not their priorities. Operators are equivalent "
    "when they put siblings in the same order whatever their targets and states; those that depend "
    "on the ratio of state and target alone are (16). These also divide the share of users who use "
    "nothing among their siblings in proportion (15); the others favour some."
)


def _equivalence(alike: Mapping[tuple[str, str], Witness | None]) -> Table:
    def same(one: str, other: str) -> bool | None:
        if one == other:
            return None
        return alike[(one, other) if (one, other) in alike else (other, one)] is None

    return Table(
        "equivalence",
        "Which operators always order siblings alike",
        (Column("Operator", "operator", "text"), *(Column(n, n, "yes_no") for n in OPERATORS)),
        tuple((one, *(same(one, other) for other in OPERATORS)) for one in OPERATORS),
    )


def _unlike(alike: Mapping[tuple[str, str], Witness | None]) -> Table:
    return Table(
        "unlike",
        "Siblings whom two operators order differently",
        (
            Column("One", "one", "text"),
            Column("Other", "other", "text"),
            Column("Targets and states", "siblings", "text"),
            Column("Priorities by one", "by_one", "text"),
            Column("By the other", "by_other", "text"),
        ),
        tuple(
            (
                *pair,
                " and ".join(f"{one.target:.4g}, {one.state:.4g}" for one in witness.samples[:2]),
                _ordered(*witness.samples[:2]),
                _ordered(*witness.samples[2:4]),
            )
            for pair, witness in alike.items()
            if witness is not None
        ),
    )


def _ordered(one: Sample, other: Sample) -> str:
    """The priorities of two siblings, with the sign between them."""
    sign = {1: ">", 0: "=", -1: "<"}[_compare(one.priority, other.priority)]
    return f"{_signed(one.priority)} {sign} {_signed(other.priority)}"


def _compare(one: float, other: float) -> int:
    return 0 if abs(one - other) < 1e-9 else (1 if one > other else -1)


# --- errata ------------------------------------------------------------------------------------

_ERRATA: Final = (
    "(13) fails at s = 0 and t = 0: where (4) holds, all targets above 0 have priority 1 at state "
    "0. Strictness is asked for t and s above 0, as (3) says.",
    "(15) fails for every operator at t = 0: F(0, 0) = 0 puts who may use nothing, and does not, "
    "before all who are above their target, and virtual targets move these. It is asked of targets "
    "above 0.",
    "(19) has the wrong sign: states fall as priorities grow. In (23) the new state is "
    "(s + k)/(1 + k), not (1 + k)(s + k). A greater k is a larger job, not a smaller one.",
    "[R §5.2] calls the input density of combined lopsided. By its formula it is not: "
    "F(s, t) = −F(t, s), so that areas above and below balance are the same. Only slurm's is.",
    "(17) and (20) divide by r what fig. 4 maps to 0 … r − 1.",
)
