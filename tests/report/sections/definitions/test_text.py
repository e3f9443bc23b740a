"""The meaning of figures: texts, fields and examples."""

import json

from audit import resources
from audit.config import Metrics
from audit.report.sections.definitions.section import EXAMPLES, definitions, examples
from tests.report.sample import present


def test_the_worked_example_is_that_of_the_definition() -> None:
    """Four CPUs. Job 1 takes three of them until 100; job 3 came after job 2 and runs until 150.

    Job 2, wide, could have started at 100, and job 4 beside it in thought: at its arrival it sees
    job 3 end at 150, fits before that, and so has a strict FST of 100. Relaxed, it queues when job
    2 starts, at 150, and waits for its end at 250. Job 3 would delay job 2, which is ahead of it,
    and so comes after it, at 200.
    """
    example = present(next(of.example for of in definitions() if of.key == "fair-start"))
    titles = ("Strict FST", "Relaxed FST", "Strict miss (s)")
    columns = [example.columns.index(title) for title in titles]
    assert [tuple(row[at] for at in columns) for row in example.rows] == [
        ("0", "0", "0"),
        ("100", "100", "50"),
        ("200", "200", "0"),
        ("100", "250", "150"),
    ]
    assert "180 s before its FST" in example.result
    assert "Overall: 50 s per attempt strict, 12.5 s relaxed." in example.result


def test_the_worked_example_of_delays_is_that_of_its_rule() -> None:
    """Without job 2, job 1 starts when enough is delivered again, at 300.

    Job 3, of all CPUs, is only before job 4, and as much as it requests is delivered from 900 on.
    """
    example = present(next(of.example for of in definitions() if of.key == "delay"))
    titles = ("Start", "FST", "Delay (s)")
    columns = [example.columns.index(title) for title in titles]
    assert [tuple(row[at] for at in columns) for row in example.rows] == [
        ("900", "300", "600"),
        ("300", "300", "0"),
        ("1,000", "900", "100"),
        ("350", "350", "0"),
    ]
    assert "job 1 lost 600 s" in example.result


def test_the_worked_example_of_passed_over_is_that_of_its_pairs() -> None:
    """Job 2 starts 600 s before job 1; job 3 starts after both, and job 4 requests less."""
    example = present(next(of.example for of in definitions() if of.key == "passed"))
    assert [row[-3:] for row in example.rows] == [
        ("2", "1", "600"),
        ("1", "0", "0"),
        ("0", "0", "0"),
        ("0", "0", "0"),
    ]


def test_the_worked_example_is_that_of_the_equation() -> None:
    example = present(next(of.example for of in definitions() if of.term == "Decayed usage"))
    assert example.rows == (
        ("anna", "0", "35", "55", "31.25", "26.9 %"),
        ("ben", "55", "60", "0", "85", "73.1 %"),
    )


def computed() -> str:
    made = examples(Metrics()).items()
    lines = (f'"{key}": {json.dumps(shown, ensure_ascii=False)}' for key, shown in made)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def test_the_stored_examples_are_those_that_are_computed() -> None:
    """``python -m tests.report.sections.definitions.test_text`` writes them."""
    assert resources.path(EXAMPLES).read_text(encoding="utf-8") == computed()


def test_definitions_are_those_that_were_in_force() -> None:
    usual = " ".join(f"{of.meaning} {of.formula}" for of in definitions())
    assert "Runs shorter than 10 s count as 10 s" in usual
    assert "in proportion to their size" in usual
    assert "fewer than two started jobs" in usual
    chosen = Metrics(
        tau_s=30,
        resource_equality_weights="jobs",
        count_never_started=True,
        keep_single_job_users=True,
    )
    made = {of.term: of for of in definitions(chosen)}
    assert "Runs shorter than 30 s count as 30 s" in made["Bounded slowdown"].meaning
    assert made["Bounded slowdown"].formula.endswith("max(runtime, 30 s))")
    assert made["Delay by later arrivals"].formula.endswith("max(runtime, 30 s))")
    equality = made["Resource equality"]
    assert "equally" in equality.meaning
    assert "Attempts that never started count" in equality.meaning
    assert "used / number of active attempts" in equality.formula
    assert "RAQFM" in equality.source
    assert "fewer than two" not in made["NUWT, UWT and F"].meaning
    said = " ".join(f"{of.meaning} {of.formula}" for of in made.values())
    assert "10 s" not in said


def test_examples_are_computed_by_what_was_in_force() -> None:
    """Of job 3, which ran for 60 s, the bounded slowdown is 1 either way; job 4 waited 170 s."""

    def slowdowns(metrics: Metrics) -> list[str]:
        example = present(
            next(of.example for of in definitions(metrics) if of.term == "Bounded slowdown")
        )
        return [row[-1] for row in example.rows]

    assert slowdowns(Metrics())[3] == "3.83"  # 230 s in all / 60 s
    assert slowdowns(Metrics(tau_s=115))[3] == "2"


if __name__ == "__main__":
    resources.path(EXAMPLES).write_text(computed(), encoding="utf-8")
