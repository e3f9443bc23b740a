"""The sections of a report: the questions that it answers."""

from dataclasses import replace
from typing import Final

from audit.report.section import ReportSection
from audit.report.sections.advice import reading as advice
from audit.report.sections.advice import text as advice_text
from audit.report.sections.advice.record import Advised
from audit.report.sections.causes import account, scattered
from audit.report.sections.causes import findings as causes_findings
from audit.report.sections.causes import reading as causes
from audit.report.sections.causes import tables as causes_tables
from audit.report.sections.causes.charts import why
from audit.report.sections.causes.record import Causes
from audit.report.sections.changes import reading as changes
from audit.report.sections.changes.charts import trend_of_pool
from audit.report.sections.changes.record import Trend
from audit.report.sections.definitions import elsewhere
from audit.report.sections.definitions.record import Elsewhere
from audit.report.sections.fair_starts import findings as fair_starts_findings
from audit.report.sections.fair_starts import reading as fair_starts
from audit.report.sections.fair_starts import tables as fair_starts_tables
from audit.report.sections.fair_starts import text as fair_starts_text
from audit.report.sections.fair_starts.charts import miss
from audit.report.sections.fair_starts.notices import of_fair_starts
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.machine import charts as machine_charts
from audit.report.sections.machine import findings as machine_findings
from audit.report.sections.machine import reading as machine
from audit.report.sections.machine import text as machine_text
from audit.report.sections.machine.record import MachineOverTime
from audit.report.sections.passed_over import charts as passed_over_charts
from audit.report.sections.passed_over import findings as passed_over_findings
from audit.report.sections.passed_over import reading as passed_over
from audit.report.sections.passed_over import stuck
from audit.report.sections.passed_over import text as passed_over_text
from audit.report.sections.passed_over.record import OrderTest
from audit.report.sections.predicted import reading as predicted
from audit.report.sections.predicted import text as predicted_text
from audit.report.sections.predicted.record import Predictions
from audit.report.sections.preemption import findings as preemption_findings
from audit.report.sections.preemption import reading as preemption
from audit.report.sections.preemption.record import Preemption
from audit.report.sections.records.notices import of_records
from audit.report.sections.resources import reading as resources
from audit.report.sections.resources.record import Resources
from audit.report.sections.rules import findings as rules_findings
from audit.report.sections.rules import reading as rules
from audit.report.sections.rules.record import BoundRules
from audit.report.sections.sharing import charts as sharing_charts
from audit.report.sections.sharing import findings as sharing_findings
from audit.report.sections.sharing import reading as sharing
from audit.report.sections.sharing import tables as sharing_tables
from audit.report.sections.sharing.record import PoolShares
from audit.report.sections.usage import findings as usage_findings
from audit.report.sections.usage.notices import of_usage
from audit.report.sections.waits import charts as waits_charts
from audit.report.sections.waits import reading as waits
from audit.report.sections.waits import tables as waits_tables
from audit.report.sections.waits.record import Waits
from audit.report.sections.who import tables as who_tables

SECTIONS: Final = (
    ReportSection(name="records", notices=of_records),
    ReportSection(
        name="rules",
        record=BoundRules,
        read=rules.read,
        in_part=lambda _: BoundRules(),
        findings=rules_findings.KINDS,
    ),
    ReportSection(
        name="causes",
        record=Causes,
        read=causes.read,
        in_part=lambda _: Causes(),
        findings=causes_findings.KINDS,
        charts=(why,),
        filters=(
            causes_tables.causes,
            causes_tables.main_cause,
            account.of_pool,
            scattered.lack_of,
            scattered.request,
        ),
    ),
    ReportSection(name="changes", record=Trend, read=changes.read, charts=(trend_of_pool,)),
    ReportSection(
        name="passed_over",
        record=OrderTest,
        read=passed_over.read,
        in_part=stuck.without_causes,
        findings=passed_over_findings.KINDS,
        charts=(passed_over_charts.passed,),
        filters=(
            passed_over_text.passed_notes,
            passed_over_text.cannot_test,
            stuck.stuck_because,
        ),
    ),
    ReportSection(
        name="fair_starts",
        record=FairStart,
        read=fair_starts.read,
        in_part=lambda of: replace(of, delayed=()),
        notices=of_fair_starts,
        findings=fair_starts_findings.KINDS,
        charts=(miss,),
        filters=(
            fair_starts_tables.delayed,
            fair_starts_tables.status,
            fair_starts_text.fit_table,
            fair_starts_text.agreements,
            fair_starts_text.good_fit,
            fair_starts_text.verdict,
            fair_starts_text.policy,
            fair_starts_text.fair_order,
            fair_starts_text.tolerance,
            fair_starts_text.most_delayed,
        ),
    ),
    ReportSection(
        name="preemption",
        record=Preemption,
        read=preemption.read,
        findings=preemption_findings.KINDS,
    ),
    ReportSection(
        name="sharing",
        record=PoolShares,
        read=sharing.read,
        findings=sharing_findings.KINDS,
        charts=(sharing_charts.shortfall, sharing_charts.lorenz, sharing_charts.account_shares),
        filters=(
            sharing_tables.worst,
            sharing_tables.best,
            sharing_tables.hidden,
            sharing_tables.contrary,
            sharing_tables.beyond,
        ),
    ),
    ReportSection(name="who", filters=(who_tables.owners, who_tables.gave_up)),
    ReportSection(
        name="waits",
        record=Waits,
        read=waits.read,
        charts=(waits_charts.waits, waits_charts.week, waits_charts.walltime),
        filters=(waits_tables.queue_columns,),
    ),
    ReportSection(
        name="advice",
        record=Advised,
        read=advice.read,
        in_part=lambda _: Advised(part=True),
        filters=(advice_text.never, advice_text.nothing, advice_text.sentences),
    ),
    ReportSection(
        name="predicted",
        record=Predictions,
        read=predicted.read,
        filters=(
            predicted_text.judged,
            predicted_text.predicted_lead,
            predicted_text.simple,
            predicted_text.predicted_number,
            predicted_text.predicted_of,
        ),
    ),
    ReportSection(
        name="machine",
        record=MachineOverTime,
        read=machine.read,
        in_part=lambda of: replace(of, outages=()),
        findings=machine_findings.KINDS,
        charts=(machine_charts.machine,),
        filters=(machine_text.busy,),
    ),
    ReportSection(name="resources", record=Resources, read=resources.read),
    ReportSection(name="usage", notices=of_usage, findings=usage_findings.KINDS),
    ReportSection(
        name="definitions",
        record=Elsewhere,
        read=elsewhere.read,
        filters=(elsewhere.counted_elsewhere,),
    ),
)
