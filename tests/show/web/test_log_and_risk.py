"""Log and Risk: a file is chosen or uploaded, its columns are confirmed, and its risk is shown."""

from __future__ import annotations

import re
import stat
from html import unescape
from pathlib import Path

import queryveil as qv
from queryveil.parameters import parameters
from tests.show.web.conftest import BASE, Starter, Visitor


def addresses(visitor: Visitor) -> dict[str, str]:
    found = re.findall(r'href="(/log/\w+)"><b>([^<]+)', visitor.look("/log").text)
    return {name: address for address, name in found}


def test_only_logs_below_the_folders_are_listed(start: Starter) -> None:
    assert set(addresses(start())) == {"log.tsv", "broken.csv", "inner/more.csv"}


def test_without_folder_and_with_an_empty_one_the_page_says_what_to_do(
    start: Starter, tmp_path: Path
) -> None:
    assert "queryveil serve --folder DIR" in start(folders=()).look("/log").text
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "No log was found" in start(folders=(empty,)).look("/log").text


def test_rows_are_hidden_until_somebody_asks(start: Starter, raw_logs: Path) -> None:
    visitor = start()
    address = addresses(visitor)["log.tsv"]
    shown = visitor.waited(address)
    lines = (raw_logs / "log.tsv").read_text().splitlines()
    queries = {line.split("\t")[2] for line in lines[1:5]}
    assert "Is this how the log is to be read?" in shown.text
    assert not [one for one in queries if f">{one}<" in shown.text]
    revealed = visitor.submit(f"{address}/rows")
    assert [one for one in queries if f">{one}<" in revealed.text]
    assert revealed.headers["cache-control"] == "no-store"
    # Nothing is remembered: the page as such hides them again.
    assert not [one for one in queries if f">{one}<" in visitor.look(address).text]


def test_rejected_rows_are_shown_by_reason_and_line_never_by_text(start: Starter) -> None:
    visitor = start()
    address = addresses(visitor)["inner/more.csv"]
    shown = visitor.waited(address).text
    assert "max-rejected" in shown or "rejected" in shown
    assert "nonsense" not in shown and "dogs" not in shown


def test_a_log_without_known_columns_says_so_and_can_be_read_after_all(start: Starter) -> None:
    visitor = start()
    address = addresses(visitor)["broken.csv"]
    shown = visitor.waited(address)
    assert "That did not work" in shown.text and "Say how to read it" in shown.text
    visitor.submit(f"{address}/read", {"column-user": "a", "column-query": "b"})
    assert "Yes, these columns are right" in visitor.waited(address).text
    visitor.submit(f"{address}/read", {"column-user": "a"})
    wrong = visitor.waited(address).text
    assert "That did not work" in wrong and "query" in wrong


def test_the_form_has_every_declared_way_to_read_a_log(start: Starter) -> None:
    visitor = start()
    address = addresses(visitor)["log.tsv"]
    shown = visitor.waited(address).text
    assert [one.name for one in parameters(qv.ReadOptions) if f'name="{one.name}"' not in shown] == []
    given = {"delimiter": "\\t", "header": "yes", "null": "none,-", "max_rejected": "0.2", "encoding": ""}
    visitor.submit(f"{address}/read", given)
    again = unescape(visitor.waited(address).text)
    assert "Yes, these columns are right" in again
    for words in ("--delimiter '\\t'", "--header", "--null none,-", "--max-rejected 0.2"):
        assert words in again, words
    assert "--encoding" not in again
    assert "<option selected>yes</option>" in again and 'value="none,-"' in again
    assert visitor.submit(f"{address}/read", {"max_rejected": "2"}).status_code == 400


def test_risk_comes_after_the_columns_were_confirmed(start: Starter) -> None:
    visitor = start()
    address = addresses(visitor)["log.tsv"]
    risk = address.replace("log", "risk", 1)
    assert visitor.get(risk).url.path == address
    visitor.waited(address)
    assert visitor.submit(f"{address}/confirm").url.path == risk
    assert "Nobody has looked yet" in visitor.look(risk).text
    visitor.submit(risk)
    shown = visitor.waited(risk).text
    assert "of 100</b> cases" in shown and "Design a release" in shown
    assert "queryveil inspect" in shown and "qv.inspect(log)" in shown


def test_uploads_are_for_their_owner_alone_and_can_be_removed(start: Starter) -> None:
    visitor = start()
    rows = b"user\ttime\tquery\n1\t2026-01-01 10:00:00\tcats\n2\t2026-01-01 10:00:00\tdogs\n"
    answer = visitor.submit("/log/upload", files={"file": ("my log.tsv", rows)})
    assert answer.url.path.startswith("/log/") and "my_log.tsv" in answer.text
    folder = visitor.bench.settings.uploads
    copy = next(folder.rglob("my_log.tsv"))
    assert copy.read_bytes() == rows
    modes = [stat.S_IMODE(one.stat().st_mode) for one in (folder, copy.parent, copy)]
    assert modes == [0o700, 0o700, 0o600]
    assert "Yes, these columns are right" in visitor.waited(answer.url.path).text
    visitor.submit(f"{answer.url.path}/forget")
    assert not list(folder.rglob("*.tsv"))
    kept = [one for one in visitor.bench.settings.home.rglob("*") if one.is_file()]
    assert not [one for one in kept if b"cats" in one.read_bytes()], "nor what a job wrote of it"
    assert visitor.get(answer.url.path).status_code == 404


def test_a_confirmation_is_of_one_person_one_file_and_these_columns(start: Starter, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    file = folder / "log.tsv"
    file.write_text("user\tquery\n1\tcats\n2\tdogs\n")
    visitor = start(folders=(folder,))
    address = addresses(visitor)["log.tsv"]
    risk = address.replace("log", "risk", 1)
    visitor.waited(address)
    assert visitor.submit(f"{address}/confirm").url.path == risk
    # Somebody else has to look for themselves.
    other = Visitor(visitor.app, base_url=BASE)
    other.get(f"/open?token={visitor.bench.sessions.new_token()}")
    assert other.look(risk).url.path == address
    # How somebody else reads the log changes nothing for this person.
    other.waited(address)
    other.submit(f"{address}/read", {"column-user": "query", "column-query": "user"})
    other.waited(address)
    assert visitor.look(risk).url.path == risk
    # Other columns, or another file, are nothing that was confirmed.
    visitor.submit(f"{address}/read", {"column-user": "query", "column-query": "user"})
    assert visitor.waited(risk).url.path == address
    assert visitor.submit(f"{address}/confirm", {"seen": "0" * 64}).url.params["changed"] == "yes"
    assert visitor.submit(f"{address}/confirm").url.path == risk
    assert other.get(risk).url.path == address
    file.write_text("user\tquery\n1\tcats\n2\tdogs\n3\tbirds\n")
    assert visitor.look(risk).url.path == address
    assert visitor.submit(f"{address}/confirm").url.params["changed"] == "yes"


def test_what_looks_wrong_is_shown_before_columns_are_confirmed(start: Starter, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    rows = [
        f"https://site{at % 7}.example/page;u{at % 9};2026-03-0{1 + at % 3};{'bücher' if at % 40 == 0 else 'tea'}\n"
        for at in range(400)
    ]
    (folder / "log.csv").write_bytes(("user;visitor_id;date;query\n" + "".join(rows)).encode("cp1252"))
    visitor = start(folders=(folder,))
    address = addresses(visitor)["log.csv"]
    shown = visitor.waited(address).text
    merged = 390 - len({tuple(row.split(";")[::2]) for row in rows if "tea" in row})
    assert "7 of 7 users" in shown and f"{merged} of 390 rows" in shown and "encoding windows-1252" in shown
    columns = {"column-user": "visitor_id", "column-query": "query"}
    visitor.submit(f"{address}/read", {**columns, "encoding": "windows-1252"})
    again = visitor.waited(address).text
    assert "of 7 users" not in again and "rows with a query" not in again
    assert "<dt>Rejected rows</dt><dd>0</dd>" in again and 'value="windows-1252"' in again
    wrong = visitor.submit(f"{address}/read", {**columns, "encoding": "hz"})
    assert wrong.status_code == 422
