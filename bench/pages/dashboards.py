"""Writes Grafana's dashboards of the metrics file into docs/grafana: ``make dashboards``.

The figures are those of the latest report, not counters, so no query uses ``rate``.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from grafana_foundation_sdk.builders import bargauge, common, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.dashboard import Dashboard, DatasourceVariable, QueryVariable
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueTextMode, StackingMode
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

FOLDER: Final = Path(__file__).parents[2] / "docs" / "grafana"
SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${source}")
POOL: Final = 'cluster="$cluster",pool="$pool"'
LABELS: Final = {"partition": "partition", "qos": "QOS", "gpu_type": "GPU type"}


def query(expression: str, legend: str, *, instant: bool = False) -> prometheus.Dataquery:
    """Return a query and the legend of its series."""
    made = prometheus.Dataquery().expr(expression).legend_format(legend).ref_id("A")
    return made.instant() if instant else made.range()


def number(title: str, about: str, expression: str, legend: str, unit: str) -> stat.Panel:
    """Return a panel with one value."""
    latest = common.ReduceDataOptions().calcs(["lastNotNull"])
    panel = (
        stat.Panel()
        .reduce_options(latest)
        .title(title)
        .description(about)
        .unit(unit)
        .datasource(SOURCE)
    )
    if unit == "none":
        panel = panel.text_mode(BigValueTextMode.NAME)
    return panel.with_target(query(expression, legend, instant=True)).height(4).span(6)


def course(title: str, about: str, expression: str, legend: str, unit: str) -> timeseries.Panel:
    """Return a panel with values over time."""
    panel = timeseries.Panel().title(title).description(about).unit(unit).datasource(SOURCE)
    return panel.with_target(query(expression, legend)).min(0).height(8).span(12)


def waits(metric: str, label: str, word: str) -> list[Any]:
    """Return the panels of the waits by a label."""
    chosen, by = f"{{{POOL}}}", f"sum by (le, {label}) ({metric}_bucket{{{POOL}}})"
    longer = (
        f'1 - sum by ({label}) ({metric}_bucket{{{POOL},le="3600"}}) '
        f"/ sum by ({label}) ({metric}_count{chosen})"
    )
    legend = f"{{{{{label}}}}}"
    about = "From the buckets of the histogram, so between two of its edges it is interpolated."
    return [
        course(f"Typical wait by {word}", about, f"histogram_quantile(0.5, {by})", legend, "s"),
        course(f"90th percentile by {word}", about, f"histogram_quantile(0.9, {by})", legend, "s"),
        bargauge.Panel()
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .title(f"Share of jobs that waited longer than an hour, by {word}")
        .unit("percentunit")
        .datasource(SOURCE)
        .with_target(query(longer, legend, instant=True))
        .min(0)
        .max(1)
        .height(6)
        .span(24),
    ]


def dashboard(uid: str, title: str, about: str, panels: Sequence[Any]) -> str:
    """Return a dashboard as JSON."""
    made = (
        Dashboard(title)
        .uid(uid)
        .description(about)
        .tags(["fairaudit"])
        .time("now-90d", "now")
        .readonly()
        .with_variable(DatasourceVariable("source").label("Source").type("prometheus"))
    )
    for name, metric in (
        ("cluster", "fairaudit_period_end_timestamp_seconds"),
        ("pool", 'fairaudit_verdict{cluster="$cluster"}'),
    ):
        variable = (
            QueryVariable(name).datasource(SOURCE).refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        )
        made = made.with_variable(
            variable.label(name.title()).query(f"label_values({metric}, {name})")
        )
    for panel in panels:
        made = made.with_panel(panel)
    text: str = JSONEncoder(sort_keys=True, indent=2).encode(made.build())
    return text + "\n"


def dashboards() -> dict[str, str]:
    """Return the content of the files of docs/grafana by name."""
    of_pool = [
        number(
            "Verdict",
            "The verdict of the latest report.",
            f"fairaudit_verdict{{{POOL}}} == 1",
            "{{verdict}}",
            "none",
        ),
        number(
            "Age of the records",
            "Time since the latest instant in the accounting records.",
            'time() - fairaudit_newest_record_timestamp_seconds{cluster="$cluster"}',
            "",
            "s",
        ),
        number(
            "Last run",
            "Time since the last run began.",
            "time() - max(fairaudit_last_run_timestamp_seconds)",
            "",
            "s",
        ),
        number(
            "Errors of the last run",
            "`fairaudit status` shows them.",
            "max(fairaudit_last_run_failures)",
            "",
            "short",
        ),
        course(
            "Why jobs waited",
            "Share of all waiting time of the period by cause.",
            f"fairaudit_wait_share{{{POOL}}}",
            "{{cause}}",
            "percentunit",
        )
        .stacking(common.StackingConfig().mode(StackingMode.NORMAL))
        .fill_opacity(40)
        .max(1)
        .span(24),
    ]
    for label, word in LABELS.items():
        of_pool += waits("fairaudit_wait_distribution_seconds", label, word)
    of_accounts = waits("fairaudit_account_wait_distribution_seconds", "account", "account")
    return {
        "fairaudit.json": dashboard(
            "fairaudit", "fairaudit", "Waits, their causes, and the verdict.", of_pool
        ),
        "fairaudit-accounts.json": dashboard(
            "fairaudit-accounts",
            "fairaudit: accounts",
            "Waits by account. Needs service.metrics_accounts.",
            of_accounts,
        ),
    }


if __name__ == "__main__":
    for name, text in dashboards().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
