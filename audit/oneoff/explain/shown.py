"""The story of a wait for a terminal, as HTML and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from audit import __version__
from audit.oneoff.explain import picture, sentences
from audit.oneoff.explain.story import Story
from audit.progress import printable
from audit.report.render import page as render
from audit.report.text import wording

Rows = list[tuple[str, ...]]


def as_text(story: Story) -> str:
    """Return what a terminal shows: sentences, timeline, picture, tables."""
    lines = [sentences.title(story), "", sentences.lead(story)]
    if timeline := sentences.timeline(story):
        lines += ["", "How the wait passed", *(f"  {line}" for line in timeline)]
    lines += ["", *sentences.sentences(story)]
    if drawn := picture.lines(story):
        lines += ["", *drawn]
    for caption, titles, rows in tables(story):
        lines += ["", caption, *_ruled([titles, *rows])]
    return "".join(f"{printable(line)}\n" for line in lines)


def as_json(story: Story) -> str:
    """Return all that is known, with the sentences; times in epoch s, durations in s."""
    made: dict[str, Any] = asdict(story)
    pool = story.subject.pool
    made["subject"]["pool"] = {
        "name": pool.name,
        "resource": pool.resource.value,
        "capacity": pool.capacity,
        "policy": pool.policy.name,
    }
    made["subject"]["wait_s"] = story.subject.wait_s
    made["sentences"] = [sentences.lead(story), *sentences.sentences(story)]
    made["lines"] = sentences.timeline(story)
    return json.dumps(made, indent=1, allow_nan=False) + "\n"


def as_html(story: Story) -> str:
    """Return one self-contained page."""
    chart = picture.chart(story)
    values = {
        "title": sentences.title(story),
        "lead": sentences.lead(story),
        "cluster": story.subject.cluster,
        "sentences": sentences.sentences(story),
        "timeline": sentences.timeline(story),
        "picture": render.picture(chart) if chart else None,
        "tables": [
            {"caption": caption, "titles": titles, "rows": rows}
            for caption, titles, rows in tables(story)
        ],
        "version": __version__,
    }
    return render.html("report/explain.html", values, ["point.js"] if chart else [])


def tables(story: Story) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return caption, titles and rows of each table that has any."""
    subject, model = story.subject, story.model
    causes: Rows = [
        (
            wording.first_upper(sentences.clause(story, cause)),
            wording.duration(seconds),
            wording.percent(seconds / subject.wait_s),
        )
        for cause, seconds in sentences.causes(story)
    ]
    starts = (
        ()
        if model is None
        else (
            ("Alone, beside what ran", model.starts.alone),
            ("Without later arrivals (fair start time)", model.starts.fair),
            ("With later arrivals (modelled start)", model.starts.modelled),
            ("Observed", subject.start),
        )
    )
    unit = wording.resources(subject.pool.resource)
    every: list[tuple[str, tuple[str, ...], Rows]] = [
        ("What it waited for", ("Cause", "Time", "Share of the wait"), causes),
        (
            f"Starts under {sentences.policy(story)}",
            ("Case", "Start", "Wait"),
            [
                (case, wording.instant(at, subject.zone), wording.duration(at - subject.arrival))
                for case, at in starts
                if at is not None
            ],
        ),
        (
            f"Later arrivals that started before it ({story.passed_by:,} in all)",
            ("Job", "User", "Arrived", "Started", unit, "Walltime"),
            [
                (
                    *(wording.name(one.job_id), wording.name(one.user)),
                    wording.instant(one.arrival, subject.zone),
                    wording.instant(one.start, subject.zone),
                    *(wording.count(one.size), wording.duration(one.walltime_s)),
                )
                for one in story.passers
            ],
        ),
    ]
    return [table for table in every if table[2]]


def _ruled(rows: Rows) -> list[str]:
    """Return cells in columns."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
