"""``sshare --explain USER --want F --job …``: as ``sshare`` shows it after the change."""

import re
from pathlib import Path

import pytest

from audit import config
from audit.errors import UsageError
from audit.oneoff.sshare.explain import FairShareQuestion, explain
from audit.oneoff.sshare.inputs import SshareRequest
from audit.oneoff.sshare.recompute import job_of, prepare
from audit.progress import silent
from tests.oneoff.sshare.lab import TICK, recompute, request
from tests.oneoff.sshare.test_explain import EARLY, LATE
from tests.places import SLURM

USER, ACCOUNT = "lab_ben", "phys_theory"


def lines(asked: SshareRequest, **more: object) -> list[str]:
    question = FairShareQuestion(USER, since=EARLY, **more)  # type: ignore[arg-type]
    return explain(asked, question, config.Config())[0]


def fairshare(asked: SshareRequest) -> float:
    (row,) = (row for row in recompute(asked).rows if row["User"] == USER)
    return float(row["FairShare"])


def with_share(folder: Path, account: str, user: str, share: int) -> Path:
    """Return the associations of the lab with another share of one of them."""
    text = (SLURM / "decay" / "assoc.psv").read_text()
    changed, count = re.subn(rf"(?m)^(lab\|{account}\|{user}\|\|)\d+\|", rf"\g<1>{share}|", text)
    assert count == 1
    path = folder / f"{account}-{user}-{share}.psv"
    path.write_text(changed)
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("target", [0.2, 0.5])
def test_the_shares_give_what_sshare_prints_with_them(target: float, tmp_path: Path) -> None:
    tick = int(LATE) - (int(LATE) - int(TICK)) % 60
    asked = request("decay", as_of=str(tick), phase=TICK)
    told = [line for line in lines(asked, want=target) if "RawShares" in line]
    assert [line.split(":")[0].split()[:2] for line in told] == [
        ["user", USER],
        ["account", ACCOUNT],
        ["account", "physics"],
    ]
    enough = 0
    for (account, user), line in zip(
        ((ACCOUNT, USER), (ACCOUNT, ""), ("physics", "")), told, strict=True
    ):
        found = re.search(r"RawShares ([\d,]+) or more", line)
        if found is None:
            shares, reached = 1 << 30, False
        else:
            shares, reached = int(found[1].replace(",", "")), True
            less = with_share(tmp_path, account, user, shares - 1)
            assert (
                fairshare(request("decay", as_of=str(tick), phase=TICK, associations=less)) < target
            )
        given = with_share(tmp_path, account, user, shares)
        got = fairshare(request("decay", as_of=str(tick), phase=TICK, associations=given))
        assert (got >= target - 1e-12) == reached
        enough += reached
    assert enough


def test_a_cost_is_what_sshare_prints_after_the_job(tmp_path: Path) -> None:
    now = int(LATE)
    asked = request("decay", as_of=LATE, phase=TICK)
    told = lines(asked, job="cpus=16,mem=2G,walltime=15m")
    (figures,) = (line for line in told if line.startswith("FairShare at "))
    with_job, without = (float(number) for number in re.findall(r"\d\.\d{6}", figures))
    end = now + 900
    tick = end + -(end - int(TICK)) % 60
    log = (SLURM / "decay" / "sacct.txt").read_text()
    header, *_, last = log.splitlines()
    heads, cells = header.split("\x1f"), last.split("\x1f")
    row = dict(zip(heads, cells, strict=True))
    row |= {"JobID": "999999", "User": USER, "Account": ACCOUNT, "Partition": "batch"}
    row |= {"QOS": "normal", "Submit": str(now), "Eligible": str(now), "Start": str(now)}
    row |= {"End": str(end), "ElapsedRaw": "900", "AllocCPUS": "16", "State": "COMPLETED"}
    row["AllocTRES"] = "billing=16,cpu=16,mem=2G,node=1"
    path = tmp_path / "sacct.txt"
    path.write_text(log + "\x1f".join(row[head] for head in heads) + "\n")
    after = request("decay", as_of=str(tick), phase=TICK)
    assert fairshare(after) == pytest.approx(without, abs=1e-6)
    longer = request("decay", as_of=str(tick), phase=TICK, sacct=[path])
    assert fairshare(longer) == pytest.approx(with_job, abs=1e-6)
    assert any(line.startswith("Back at the FairShare of now: ") for line in told)


def test_a_job_is_billed_as_its_partition_bills() -> None:
    basis = prepare(request("decay", as_of=LATE, phase=TICK), config.Config(), Path(), silent)
    # CPU=1.0, Mem=0.25G, GRES/gpu=8.0; QOS high counts twice
    of = job_of("cpus=4,mem=8G,gpus=a100:2,walltime=1h,partition=batch,qos=high", basis)
    factor = basis.site.factors["high"]
    assert (of.lasts_s, of.penalty) == (3_600, (4 + 2 + 16) * factor)
    assert of.words == (
        "A job of cpus=4, mem=8G, gpus=a100:2, walltime=1h (partition batch, qos high)"
    )
    for wrong, why in (
        ("cpus=4", "needs at least cpus=N and walltime=LENGTH"),
        ("colour=red", "write NAME=VALUE"),
        ("cpus=4,walltime=1h,partition=<b>", "there is no partition <b>; there is: "),
        ("cpus=x,walltime=1h", "write a whole number"),
    ):
        with pytest.raises(UsageError, match=re.escape(why)):
            job_of(wrong, basis)
