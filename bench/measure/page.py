"""RESULTS.md: tables of the figures, how they grow, and how far they are from their limits."""

from collections.abc import Iterable, Sequence

from bench.measure.figures import Beside, Figure
from bench.measure.growth import Growth, growths


def page(machine: str, took: str, figures: Sequence[Figure], pictures: Sequence[str]) -> str:
    """The page; pictures are names of files beside it."""
    parts = [
        "# How fast it is",
        f"Made by `make bench` ({took}) on: {machine}.",
        "Times are user CPU of all threads, in seconds, medians of rounds in which the works of "
        "a row took turns; × is ours over theirs, the median of the rounds: less is better. "
        "Ratios bear what else a machine does, times do not. A *twin* gives the same result "
        "another way; a *limit* is the least that has to be done, and gives no result: it says "
        "how far a stage is from it. *Attempts* are records where logs are read.",
        *_missed(figures),
    ]
    for stage in dict.fromkeys(figure.stage for figure in figures):
        of = [figure for figure in figures if figure.stage == stage]
        order = list(dict.fromkeys(figure.what for figure in of))
        of.sort(key=lambda figure: order.index(figure.what))
        parts += [f"## {stage}", table(of)]
    parts += ["## Growth", _GROWTH, growth_table(growths(figures))]
    parts += [f"![CPU by the number of attempts]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


_GROWTH = (
    "The power of the number of attempts with which CPU grows: least squares over all sizes, of "
    "the logarithms. Below 1, a part does not grow."
)


def _missed(figures: Iterable[Figure]) -> list[str]:
    missed = [
        f"- {figure.stage}, {figure.what}{_of(figure)}: {_measured(figure)}"
        for figure in figures
        if figure.missed
    ]
    return ["Goals that are missed:", "\n".join(missed)] if missed else ["All goals hold."]


def _of(figure: Figure) -> str:
    return "" if figure.size is None else f", {figure.size:,}"


def _measured(figure: Figure) -> str:
    if figure.twin:
        return f"{number(figure.twin.ratio)} × {figure.twin.what}, goal ≤ {figure.goal:.3g}"
    return f"{number(figure.seconds)} s, goal ≤ {figure.goal:.3g}"


def table(figures: Sequence[Figure]) -> str:
    """Figures of one stage; columns that all would leave empty are not there."""
    others = dict.fromkeys(other.what for figure in figures for other in figure.others)
    columns = {
        "what": [figure.what for figure in figures],
        "attempts": ["" if figure.size is None else f"{figure.size:,}" for figure in figures],
        "CPU s": [number(figure.seconds) for figure in figures],
        "twin": [_seconds(figure.twin) for figure in figures],
        "× twin": [_ratio(figure.twin) for figure in figures],
        "limit": [_seconds(figure.limit) for figure in figures],
        "× limit": [_ratio(figure.limit) for figure in figures],
        **{f"× {name}": [_other(figure, name) for figure in figures] for name in others},
        "peak MiB": ["" if one.peak_mib is None else f"{one.peak_mib:,.0f}" for one in figures],
        "goal": [_goal(figure) for figure in figures],
    }
    held = {title: cells for title, cells in columns.items() if any(cells)}
    return rows(list(held), zip(*held.values(), strict=True), left={"what", "twin", "limit"})


def growth_table(grown: Iterable[Growth]) -> str:
    """The exponents."""
    lines = []
    for one in grown:
        ours, twin = one.powers
        sizes = [size for size, _ in one.ours]
        span = f"{min(sizes):,.0f} to {max(sizes):,.0f}"
        lines.append((one.stage, one.what, span, _power(ours), _power(twin)))
    titles = ["stage", "what", "attempts", "ours", "twin"]
    return rows(titles, lines, left={"stage", "what"})


def rows(titles: Sequence[str], lines: Iterable[Sequence[str]], left: set[str]) -> str:
    """A table of Markdown."""
    rule = "|".join("---" if title in left else "---:" for title in titles)
    body = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    ]
    return "\n".join([f"| {' | '.join(titles)} |", f"|{rule}|", *body])


def number(value: float) -> str:
    """Three digits, or whole."""
    if value >= 100:
        return f"{value:,.0f}"
    digits = f"{value:.3g}"
    return f"{value:.6f}".rstrip("0") if "e" in digits else digits


def _seconds(side: Beside | None) -> str:
    return f"{side.what}: {number(side.seconds)}" if side else ""


def _ratio(side: Beside | None) -> str:
    return number(side.ratio) if side else ""


def _other(figure: Figure, name: str) -> str:
    return next((number(other.ratio) for other in figure.others if other.what == name), "")


def _power(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    bound = f"≤ {figure.goal:.3g} {'×' if figure.twin else 's'}"
    return f"{bound}, missed" if figure.missed else bound
