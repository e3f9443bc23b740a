"""How long jobs waited by size and queue, from the attempts of one pool and in page one's words."""

from typing import Final

from audit.report import wording
from audit.report.first_page import amounts, phrases
from audit.report.first_page.page import PageFacts
from audit.report.first_page.sentences import NOTHING, Sentence, Slot, figure, say, upper
from audit.report.sections.causes.page_one import MOST_WORDS, MUCH, bar
from audit.report.sections.waits.record import Cell, SizeClass, SizeRow
from audit.report.sections.who import page_one

_HOUR_S: Final = 3_600


def strip_cells(facts: PageFacts) -> tuple[Cell, ...]:
    """Return the four figures; without start times, how busy the machine was."""
    of, busy = facts.strip, _busy(facts)
    if of is None:
        return (busy,)
    run = say(phrases.TYPICAL_RUN, time=Slot(amounts.short_time(of.run_median), "typical run"))
    if of.hiding_queue is not None:
        queue = wording.name(of.hiding_queue, 20)
        wait = Slot(amounts.short_time(of.without_queue), "typical wait without a queue")
        run += say(phrases.WITHOUT_QUEUE, queue=queue, wait=wait)
    median = Cell(figure(amounts.short_time(of.median), "typical wait"), say(phrases.MEDIAN), run)
    if facts.decision.word == "quiet":
        return (median, *_long(facts), busy)
    tenth = Slot(amounts.short_time(of.run_p90), "one run in ten")
    p90 = Cell(
        figure(amounts.short_time(of.p90), "one job in ten"),
        say(phrases.ONE_IN, n="ten"),
        say(phrases.RUN_IN, n="ten", time=tenth),
    )
    minute = of.over[60]
    what, other = ("a minute", minute) if minute <= 0.95 else ("ten hours", of.over[36_000])
    over = Cell(
        figure(amounts.short_share(of.over[_HOUR_S]), "over an hour"),
        say(phrases.OVER_HOUR),
        say(phrases.OVER, what=what, share=Slot(amounts.short_share(other), f"over {what}")),
    )
    return (median, p90, over, busy)


def _long(facts: PageFacts) -> tuple[Cell, Cell]:
    of = facts.strip
    assert of is not None
    hundred = Slot(amounts.short_time(of.run_p99), "one run in a hundred")
    p99 = Cell(
        figure(amounts.short_time(of.p99), "one job in a hundred"),
        say(phrases.ONE_IN, n="a hundred"),
        say(phrases.RUN_IN, n="a hundred", time=hundred),
    )
    least, share = int(facts.thresholds["few_jobs"]), facts.thresholds["few_share"]
    jobs = wording.plural(of.long_jobs, "job")
    than = say(phrases.FOR_VERDICT, least=str(least), n=wording.count(1 / share if share else 0))
    return p99, Cell(figure(jobs, "jobs over 10 minutes"), say(phrases.LONG_JOBS), than)


def _busy(facts: PageFacts) -> Cell:
    machine = facts.machine
    amount = wording.plural(machine.whole or machine.capacity, wording.resource(machine.resource))
    if machine.whole is not None:
        amount = phrases.UP_TO.format(amount=amount)
    nodes = ""
    if machine.nodes is not None and machine.resource != "nodes":
        nodes = f" ({wording.plural(machine.nodes, 'node')})"
    than = NOTHING
    if machine.gpus_busy is not None:
        share = Slot(amounts.short_share(machine.gpus_busy), "busy GPUs")
        than = say(phrases.OF_GPUS, share=share)
    elif machine.fullest is not None:
        share = Slot(amounts.short_share(machine.fullest), "fullest step")
        than = say(phrases.FULLEST, step=machine.step, share=share)
    what = say(phrases.BUSY, amount=Slot(amount, "capacity"), nodes=nodes)
    return Cell(figure(amounts.short_share(machine.busy), "busy"), what, than)


def size_rows(facts: PageFacts) -> tuple[SizeRow, ...]:
    """Return the classes of sizes; of one alone nothing, as the other parts say it all."""
    if len(facts.sizes) == 1:
        return ()
    mixed = len({one.gpus for one in facts.sizes}) > 1
    made = []
    for one in facts.sizes:
        title = size_label(one, facts) if mixed else _numbers(one)
        part = one.waiting_s / facts.waiting_s if facts.waiting_s else 0.0
        made.append(
            SizeRow(
                title,
                bar(one.causes, facts),
                figure(wording.count(one.jobs), f"jobs of {title}"),
                figure(amounts.short_share(part), f"waiting of {title}"),
                figure(amounts.short_time(one.median), f"typical wait of {title}"),
                figure(amounts.short_time(one.p90), f"one in ten of {title}"),
            )
        )
    return tuple(made)


def size_title(facts: PageFacts) -> str:
    """Return the title of the column of classes."""
    if len({one.gpus for one in facts.sizes}) > 1:
        return "Requested"
    if facts.sizes and facts.sizes[0].gpus:
        return "GPUs"
    return wording.first_upper(f"{page_one.unit(facts)}s")


def _numbers(one: SizeClass) -> str:
    low, high = (wording.count(of) if of >= 10_000 else str(of) for of in (one.low, one.high))
    return low if one.low == one.high else f"{low}–{high}"


def size_label(one: SizeClass, facts: PageFacts) -> str:
    """Return a class with its unit: ``1 GPU``, ``5–16 CPUs``."""
    unit = "GPU" if one.gpus else page_one.unit(facts)
    return f"{_numbers(one)} {unit}{'' if one.high == 1 else 's'}"


def _jobs(one: SizeClass, facts: PageFacts) -> str:
    unit = "GPU" if one.gpus else page_one.unit(facts)
    if one.top and one.low > 1:
        return phrases.OVER_SIZE.format(size=one.low - 1, unit=unit)
    return f"jobs of {size_label(one, facts)}"


def size_note(facts: PageFacts) -> Sentence:
    """Return the first note that holds, of the class with most waiting."""
    queues = facts.queues
    if 2 <= len(queues) <= 4 and queues[-1].p90 >= 1.5 * max(queues[0].p90, 1):
        parts: list[Slot] = []
        for queue in queues:
            shown = f"{wording.name(queue.name, 24)} "
            parts += [Slot(", ")] if parts else []
            parts += [
                Slot(shown),
                Slot(amounts.short_time(queue.p90), f"one in ten of queue {shown}"),
            ]
        made = say(phrases.BY_QUEUE, queues=Sentence(tuple(parts)))
        if len(made.text.split()) <= MOST_WORDS:
            return made
    if len(facts.sizes) == 1:
        return NOTHING
    by_waiting = sorted(facts.sizes, key=lambda one: -one.waiting_s)
    some = [one for one in by_waiting if one.waiting_s >= MUCH * facts.waiting_s]
    for note in (_behind_later, _one_user, _whole_node):
        for one in some:
            if made := note(one, facts):
                return made
    return NOTHING


def _behind_later(one: SizeClass, facts: PageFacts) -> Sentence:
    later, usual = one.causes["later"], facts.causes["later"]
    if later < 0.25 or not usual or later < 3 * usual:
        return NOTHING
    return say(
        phrases.BEHIND_LATER,
        jobs=_jobs(one, facts),
        share=Slot(amounts.short_share(later), "later jobs of a class"),
        times=Slot(amounts.digits(later / usual), "times the usual share"),
    )


def _one_user(one: SizeClass, facts: PageFacts) -> Sentence:
    if one.largest_user < 0.75:
        return NOTHING
    share = Slot(amounts.short_share(one.largest_user), "one user of a class")
    rules, hardly = facts.causes["rule"] >= MUCH, one.causes["rule"] < 0.1
    if rules and hardly:
        return upper(say(phrases.HARDLY_MET, jobs=_jobs(one, facts), share=share))
    return NOTHING if rules else say(phrases.ONE_USER, share=share, jobs=_jobs(one, facts))


def _whole_node(one: SizeClass, facts: PageFacts) -> Sentence:
    largest = max(one.causes, key=lambda key: (one.causes[key], key))
    if facts.part or largest != "nodes" or one.causes["nodes"] < 0.25:
        return NOTHING
    return upper(say(phrases.WHOLE_NODE, jobs=_jobs(one, facts)))
