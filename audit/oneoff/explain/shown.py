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
    """What a terminal shows: sentences, picture, tables."""
    lines = [sentences.title(story), "", *sentences.sentences(story)]
    if drawn := picture.lines(story):
        lines += ["", *drawn]
    for caption, titles, rows in tables(story):
        lines += ["", caption, *_ruled([titles, *rows])]
    return "".join(f"{printable(line)}\n" for line in lines)


def as_json(story: Story) -> str:
    """All that is known, with the sentences; times in epoch s, durations in s."""
    told: dict[str, Any] = asdict(story)
    pool = story.subject.pool
    told["subject"]["pool"] = {
        "name": pool.name,
        "resource": pool.resource.value,
        "capacity": pool.capacity,
        "policy": pool.policy.name,
    }
    told["subject"]["wait_s"] = story.subject.wait_s
    told["sentences"] = sentences.sentences(story)
    return json.dumps(told, indent=1, allow_nan=False) + "\n"


def as_html(story: Story) -> str:
    """One self-contained page."""
    chart = picture.chart(story)
    values = {
        "title": sentences.title(story),
        "lead": sentences.lead(story),
        "cluster": story.subject.cluster,
        "sentences": sentences.sentences(story),
        "picture": render.picture(chart) if chart else None,
        "tables": [
            {"caption": caption, "titles": titles, "rows": rows}
            for caption, titles, rows in tables(story)
        ],
        "version": __version__,
    }
    return render.html("report/explain.html", values, ["point.js"] if chart else [])


def tables(story: Story) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Caption, titles and rows of each table that has any."""
    subject = story.subject
    wait = subject.wait_s
    parts: Rows = [
        (words, wording.duration(story.parts[part]), wording.percent(story.parts[part] / wait))
        for part, words in sentences.PARTS.items()
        if story.parts and wait
    ]
    starts: Rows = []
    if story.starts is not None:
        starts = [
            (words, wording.instant(at, subject.zone), wording.duration(at - subject.arrival))
            for words, at in (
                ("Alone, beside what ran", story.starts.alone),
                ("With those before it (strict fair start time)", story.starts.strict),
                ("After those before it (relaxed)", story.starts.relaxed),
                ("With those that came later, too", story.starts.modelled),
                ("First pass that would have started it", story.starts.ready),
                ("As it was", subject.start),
            )
            if at is not None
        ]
    costs: Rows = [
        (wording.name(cost.user), wording.count(cost.arrivals), wording.duration(cost.cost_s))
        for cost in story.costs
    ]
    unit = wording.resources(subject.pool.resource)
    passers: Rows = [
        (
            *(wording.name(one.job_id), wording.name(one.user)),
            *(wording.instant(one.arrival, subject.zone), wording.instant(one.start, subject.zone)),
            *(wording.count(one.size), wording.duration(one.estimate_s)),
        )
        for one in story.passers
    ]
    policy = sentences.policy(story)
    every = [
        ("The wait taken apart", ("While", "For", "Of the wait"), parts),
        (f"When it would have started under {policy}", ("If", "Start", "Wait"), starts),
        (
            "Without the later arrivals of one user alone",
            ("User", "Later arrivals", "It would have started earlier by"),
            costs,
        ),
        (
            f"Who came later and started earlier ({story.passed_by:,} in all)",
            ("Job", "User", "Arrived", "Started", unit, "Asked for"),
            passers,
        ),
    ]
    return [table for table in every if table[2]]


def _ruled(rows: Rows) -> list[str]:
    """Cells in columns."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
