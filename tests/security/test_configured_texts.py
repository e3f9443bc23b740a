"""Hostile names in config.toml become visible text in pages, mails and terminals."""

import csv
import io
from email import message_from_bytes, policy
from email.message import EmailMessage
from html import unescape
from pathlib import Path
from typing import Final

import pypdfium2  # type: ignore[import-untyped]
import pytest

from audit.report.render import page, sandbox
from audit.spreadsheets import visible
from tests.nightly.test_run import month
from tests.security.test_names_with_key import Site, forms, text_of

ODD: Final = "\u202e\u2066\x1b\x07\u2028\u200b\xad\ufeff\x85"
"""Characters that reverse, hide or break lines, or control terminals."""
SHOWN: Final = r"\u202e"
END: Final = "\nBcc: all@example.org"


def odd(label: str) -> str:
    return f"{label}{ODD}{label}{END}"


def write_site(folder: Path) -> None:
    """Write a site in which every text of config.toml is hostile."""
    scope = {key: [odd(key)] for key in ("user", "account", "qos", "partition")}
    pools = [
        {
            "name": odd("first-pool"),
            "partitions": [odd("partition"), "1"],
            "order": "fairshare",
            "capacity": {"cpus": 8},
            "limits": [
                {**scope, "most": 3},
                {"user": [odd("user")], "exempt_qos": [odd("qos")], "most": 2, "per": "user"},
            ],
            "windows": [{**scope, "hours": "Sun"}],
        },
        {"name": odd("rest-pool"), "capacity": {"cpus": 8}},
    ]
    users = {"1": 0.25, "2": 0.25, "3": 0.25, odd("user"): 0.25}
    (folder / "logs").mkdir()
    (folder / "logs" / f"x{ODD}.swf").write_text(
        month(0, 400).replace(" -1 -1 -1 -1\n", " -1 1 -1 -1\n")
    )
    (folder / "logs" / "empty.swf").write_text("")
    cluster = {
        "name": odd("cluster"),
        "pools": pools,
        "usage": {"users": users, "operator": "relative"},
        "sources": [
            {"files": "logs/*.swf"},
            {"files": odd("nothing")},
            {"command": [odd("command")]},
        ],
    }
    settings: dict[str, object] = {
        "uncertainty": {"resamples": 100},
        "thresholds": [{"metric": "attempts", "above": 1.0}],
        "mail": {
            "via": "outbox",
            "sender": "audit@example.org",
            "domains": ["example.org"],
            "operators": ["operator@example.org"],
        },
        "recipients": [
            {"addresses": ["boss@example.org"], "clusters": [odd("cluster")]},
            {
                "addresses": ["pi@example.org"],
                "users": [odd("user"), "1"],
                "accounts": [odd("account")],
                "attach": ["page", "page_pdf", "csv"],
            },
        ],
        "clusters": [cluster],
    }
    (folder / "config.toml").write_text(text_of(settings))


def night(folder: Path) -> Site:
    write_site(folder)
    made = Site(folder)
    made.call("run")
    return made


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Without PDFs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "render_pdf", lambda *_: b"%PDF-1.7")
        patch.setattr(sandbox, "lay_out", lambda *_: b"%PDF-1.7")
        patch.setattr(sandbox, "prepare", lambda *_: None)
        return night(tmp_path_factory.mktemp("site"))


def harmless(text: str, where: str) -> None:
    for char in ODD:
        assert char not in text, f"{where}: {char!r}"
    for start in text.splitlines():
        assert not start.startswith("Bcc:"), where


@pytest.mark.thorough
def test_pages_show_them(made: Site) -> None:
    pages = {path.name: path for path in made.folder.rglob("*.html")}
    assert {"index.html", "report.html", "user-1.html"} <= pages.keys()
    for name, path in pages.items():
        text = path.read_text(encoding="utf-8")
        for char in ODD:
            assert char not in text, f"{name}: {char!r}"
        assert f"cluster{SHOWN}" in unescape(text), name
        for where, data in forms(name, path.read_bytes(), path):
            if where == "data of a page" and not data.startswith(b"{"):  # its claim
                harmless(data.decode(), f"{where} in {name}")
    assert f"first-pool{SHOWN}" in unescape(pages["report.html"].read_text())


@pytest.mark.thorough
def test_paper_shows_them(tmp_path: Path) -> None:
    (path,) = night(tmp_path).folder.rglob("report.pdf")
    pdf = pypdfium2.PdfDocument(path)
    text = "\n".join(one.get_textpage().get_text_range() for one in pdf)
    assert not any(char in text for char in ODD)
    assert SHOWN in text
    for field in pdf.get_metadata_dict().values():
        harmless(field, "metadata")


@pytest.mark.ci
@pytest.mark.thorough
def test_mails_show_them(made: Site) -> None:
    mails = [
        message_from_bytes(path.read_bytes(), policy=policy.default)
        for path in (made.folder / "fairaudit-outbox").glob("*.eml")
    ]
    assert sorted(str(mail["To"]) for mail in mails) == [
        *("boss@example.org", "operator@example.org", "pi@example.org"),
    ]
    for mail in mails:
        assert isinstance(mail, EmailMessage)
        assert mail["Bcc"] is None
        harmless("\n".join(map(str, mail.values())), "headers")
        for part in mail.walk():
            if part.get_content_maintype() == "text":
                kind = part.get_content_type()
                text = part.get_content()
                if kind == "text/plain":
                    harmless(text, kind)
                for char in ODD:
                    assert char not in text, f"{kind}: {char!r}"
                if kind == "text/csv":
                    assert list(csv.reader(io.StringIO(text)))
        assert SHOWN in str(mail.as_string()) or SHOWN in str(mail.get_body())


COMMANDS: Final = [
    ("status",),
    ("doctor", "--config", "config.toml"),
    ("explain", "3", "--config", "config.toml", "--cluster", odd("cluster")),
    ("sql", "SELECT * FROM runs", "--db", "fairaudit.duckdb", "--format", "csv"),
    ("deliver", "--dry-run"),
    ("run",),
    ("status", "--format", "json"),
    ("explain", "3", "--config", "config.toml", "--format", "html"),
    ("explain", "3", "--config", "config.toml", "--format", "json"),
    ("stuck", "--config", "config.toml"),
    ("sshare", "--config", "config.toml"),
    ("sql", "SELECT DISTINCT cluster, pool FROM job_fairness", "--db", "fairaudit.duckdb"),
    ("archive",),
]


@pytest.mark.thorough
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_commands_show_them(made: Site, words: tuple[str, ...]) -> None:
    said = made.call(*words)
    assert said
    for char in ODD:
        assert char not in said, repr(char)


@pytest.mark.parametrize(
    "template",
    [
        "{{ x }}",
        "{{ x | safe }}",
        "{{ x ~ 1 }}",
        "{{ [x, '<b>' | safe] | join }}",
        "{% macro m(y) %}{{ y }}{% endmacro %}{{ m(x) }}",
        "{% set y %}{{ x }}{% endset %}{{ y }}",
        "{% autoescape false %}{{ x }}{% endautoescape %}",
        '<p title="{{ x }}">',
    ],
)
def test_all_output_of_templates_passes_one_function(template: str) -> None:
    text = page._environment().from_string(template).render(x=f"a{ODD}&z")
    assert visible(f"a{ODD}") in text
    for char in ODD:
        assert char not in text
