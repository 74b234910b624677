"""The curator's report: figures by hand, private or not at all, and attacks kept beside a release."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from pathlib import Path

import pyarrow as pa
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import at, many
from tests.release.documents import pages

LOG = pa.concat_tables([many(300, ["apples", "pears"]), many(2, ["her secret", "figs"], prefix="x")])
# What two users share is below the first threshold, so that no noise can publish it.
METHOD = qv.Zealous(epsilon=9, delta=1e-3, max_items=3, tau=3, guarantee="probabilistic")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    qv.publish(qv.read(LOG), METHOD, items="queries", out=tmp_path / "out")
    return tmp_path / "out"


def text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in folder.iterdir()}


def test_it_shows_what_a_hand_computes(release: Path) -> None:
    before = snapshot(release)
    file = qv.write_curator_report(release, qv.read(LOG), metrics=("coverage@4", "missing@4"))
    page = text(file)
    assert file == release.with_name("out.private") / "report.html"
    assert "Of the log&#39;s 4 most frequent queries, 2 are in the release" in page
    # A wide and a narrow picture, each with the two that are there and the two that are missing.
    assert page.count('<rect class="there"') == page.count('<rect class="missing"') == 4
    assert "2 of the log&#39;s 4 different queries (50 %)" in page and "600 of its 604 pairs" in page
    assert re.search(r"Of 2 queries in both, \d have a lower count", page)
    assert "2 of the log&#39;s queries have as many or more" in page
    assert re.search(r"<code>coverage@4</code></td><td[^>]*>0.5000<", page)
    assert re.search(r"<code>missing@4</code></td><td[^>]*>2<", page)
    assert re.search(r'her secret</bdi></td><td class="n">2</td><td class="n">missing', page)
    assert "Do not publish it" in page and "No attack is kept" in page and "No row was rejected" in page
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert snapshot(release) == before, "the release is not touched"
    assert qv.verify(release).passes


def test_without_lists_of_names_it_says_how_to_get_them(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `pip install queryveil` alone, with which the demo writes this page."""
    monkeypatch.setattr("queryveil.language.spotting.lists.PACKAGES", ("not_installed",))
    page = text(qv.write_curator_report(release, qv.read(LOG), metrics="coverage"))
    assert page.count("pip install &#39;queryveil[language]&#39;") == 2, "in the check and in the section"
    assert "4 of 5 checks are done" not in page and "No published text was found to name" not in page


def test_counts_of_sessions_add_up_to_pairs(tmp_path: Path) -> None:
    log = qv.read(pages.hostile_log())
    qv.publish(log, qv.KSession(k=3), out=tmp_path / "out")
    page = text(qv.write_curator_report(tmp_path / "out", log, metrics="coverage"))
    assert re.search(r"of its [\d,]+ pairs of session and keyword \(", page)


def test_released_counts_are_no_share_of_the_log(tmp_path: Path) -> None:
    """Without the rare query between them, apples and pears become neighbours 40 times more."""
    rows = [(f"u{user}", query) for user in range(40) for query in ("apples", f"rare {user}", "pears")]
    rows += [(f"v{user}", query) for user in range(3) for query in ("apples", "pears")]
    log = qv.read(
        pa.table(
            {
                "user": [user for user, _ in rows],
                "time": [at(minute) for minute in range(len(rows))],
                "query": [query for _, query in rows],
            }
        )
    )
    qv.publish(log, qv.KQuery(k=3), out=tmp_path / "out")
    page = text(qv.write_curator_report(tmp_path / "out", log, metrics="coverage"))
    assert "2 of the log&#39;s 42 different queries (4.76 %)" in page and "86 of its 126 occurrences" in page
    assert "1 of the log&#39;s 81 different query pairs (1.23 %)" in page
    assert "3 of its 83 occurrences" in page, "the release has 43 of them"
    assert (
        "Of 1 query pairs in both, 0 have a lower count in the release, 0 the same and 1 a higher one" in page
    )
    assert "are not in the log" not in page
    qv.publish(log, qv.Semantic(epsilon=1, max_phrases=1, pad=True), out=tmp_path / "drawn")
    page = text(qv.write_curator_report(tmp_path / "drawn", log, metrics="coverage"))
    shares = [float(one) for one in re.findall(r"different \w+ \(([\d.e-]+) %\)", page)]
    assert shares and max(shares) <= 100 and "are not in the log" in page


def test_counts_are_written_out(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    qv.publish(qv.read(LOG), METHOD, items="queries", out=tmp_path / "out")
    values = [76_109.0, 242_300.5, 0.123456, 3e20]
    pq.write_table(pa.table({"value": values}), tmp_path / "out.private" / "more.parquet")
    page = text(qv.write_curator_report(tmp_path / "out"))
    for shown in ("76,109", "242,300.5", "0.1235"):
        assert f'<bdi dir="auto">{shown}</bdi>' in page


def test_headings_and_tables_have_names(release: Path) -> None:
    page = text(qv.write_curator_report(release, qv.read(LOG), metrics="coverage"))
    levels = [int(one) for one in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1 and all(below <= above + 1 for above, below in itertools.pairwise(levels))
    assert not re.search(r"<th[^>]*></th>", page)
    tables = re.findall(r'<div class="scroll"[^>]*>', page)
    assert tables and all('tabindex="0" role="region" aria-label="Table: ' in one for one in tables)


def test_without_the_log_it_shows_what_was_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    rows = [f"u{user}\t2026-01-01 00:00:00\tapples" for user in range(300)]
    log.write_text("user\ttime\tquery\n" + "\n".join([*rows, "u1\tnot a time\tpears", "u2"]) + "\n")
    qv.publish(qv.read(log), METHOD, out=tmp_path / "out")
    page = text(qv.write_curator_report(tmp_path / "out"))
    assert "They need the log" in page and "Rows rejected" in page
    assert len(re.findall(r'<td class="n">1</td>', page)) == 2, "a row for each of two reasons"
    assert "<h2>Time</h2>" in page and "pears" not in page


def test_who_a_number_stands_for_is_not_shown(tmp_path: Path) -> None:
    """A map of few users is short; it is for measures, and a page is read over shoulders."""
    log = qv.read(many(3, ["swimming"], prefix="anna-of-the-mill-"))
    qv.publish(log, qv.Semantic(epsilon=5, domain="sport"), out=tmp_path / "out")
    kept = tmp_path / "out.private" / "user-map.parquet"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    page = text(qv.write_curator_report(tmp_path / "out"))
    assert "phrases replaced" in page and "anna-of-the-mill" not in page
    assert not any(b"anna-of-the-mill" in one.read_bytes() for one in (tmp_path / "out").iterdir())


def test_another_log_is_refused(release: Path) -> None:
    with pytest.raises(qv.InputError, match="is a release of another log"):
        qv.write_curator_report(release, qv.read(many(299, ["apples"])))
    assert not (release.with_name("out.private") / "report.html").exists()


def test_a_folder_that_others_can_read_is_refused(release: Path) -> None:
    private = release.with_name("out.private")
    for mode in (0o755, 0o710, 0o704):
        private.chmod(mode)
        with pytest.raises(qv.OutputError, match="not yours alone") as refused:
            qv.write_curator_report(release)
        assert "chmod 700" in refused.value.hint
        with pytest.raises(qv.OutputError):
            qv.keep_attack(release, qv.SybilAttack(), _found())
    private.chmod(0o700)
    moved = private.rename(private.with_name("elsewhere"))
    private.symlink_to(moved)
    with pytest.raises(qv.OutputError, match="not a folder"):
        qv.write_curator_report(release)
    private.unlink()
    made = qv.write_curator_report(release)
    assert stat.S_IMODE(made.parent.stat().st_mode) == 0o700, "it is made anew, closed"


def _found(**more: object) -> qv.AttackResult:
    return qv.AttackResult(
        attack="sybil",
        success=0.75,
        control=0.25,
        interval=(0.4, 0.6),
        trials=8,
        **more,  # type: ignore[arg-type]
    )


def test_attacks_are_kept_and_shown_without_examples(release: Path) -> None:
    attack = qv.SybilAttack(max_queries=3)
    table = (("accounts", "share"), ("<b>7</b>", "75 %"))
    first = qv.keep_attack(
        qv.load(release),
        attack,
        _found(table=table, words=(("So", "it works."),), examples=(("who", "her secret"),)),
    )
    second = qv.keep_attack(release, attack, _found())
    assert first == release.with_name("out.private") / "attacks" / "sybil.json"
    assert second.name == "sybil-2.json" and "her secret" not in text(first)
    kept = json.loads(text(first))
    assert kept["result"]["advantage"] == 0.5 and kept["parameters"]["max_queries"] == 3
    assert stat.S_IMODE(first.stat().st_mode) == 0o600 and stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    page = text(qv.write_curator_report(release))
    assert page.count("<h3>sybil</h3>") == 2 and "50 % (40 to 60 %)" in page
    assert "&lt;b&gt;7&lt;/b&gt;" in page and "So: it works." in page
    with pytest.raises(qv.UsageError, match="was not saved"):
        qv.keep_attack(qv.publish(qv.read(LOG), METHOD), attack, _found())


def test_each_of_several_releases_keeps_its_own_headline(tmp_path: Path) -> None:
    """People found by their queries where sessions are as they were, and by construction nobody in a histogram."""
    rows = [(f"u{user}", query) for user in range(30) for query in ("apples", f"own {user}")]
    log = tmp_path / "log.tsv"
    lines = [
        f"{user}\t2026-01-01 00:{place // 60:02}:{place % 60:02}\t{query}"
        for place, (user, query) in enumerate(rows)
    ]
    log.write_text("user\ttime\tquery\n" + "\n".join(lines) + "\n")
    known = qv.read(log)
    qv.publish(known, qv.AdHoc(steps=("hash-users",)), out=tmp_path / "bare", i_understand=True)
    qv.publish(known, METHOD, items="queries", out=tmp_path / "counts", allow_empty=True)
    for name, order in (("linkage", ("bare", "counts")), ("exposure", ("counts", "bare"))):
        made = command("attack", name, str(log), *(str(tmp_path / one) for one in order), "--save", "--json")
        assert made.code == 0, made.err
        kept = {
            one: json.loads(text(tmp_path / f"{one}.private" / "attacks" / f"{name}.json"))["result"]
            for one in order
        }
        assert all(Path(found["of"]).name == one for one, found in kept.items())
        if name == "linkage":
            assert kept["bare"]["success"] == 1 and kept["counts"]["success"] == 0
            assert made.document["success"] == 1, (
                "of the most exposed one, not of the last one that was named"
            )
        else:
            assert kept["bare"]["trials"] == 31 and kept["counts"]["trials"] <= 1 < kept["bare"]["trials"]
    page = text(qv.write_curator_report(tmp_path / "bare"))
    assert re.search(
        r'Of</th><td><bdi dir="auto">[^<]*bare</bdi></td></tr><tr><th[^>]*>Success</th><td>100 %', page
    )


def test_hostile_queries_are_text(tmp_path: Path) -> None:
    log = qv.read(pages.hostile_log())
    qv.publish(log, qv.KSession(k=3), out=tmp_path / "out")
    page = text(qv.write_curator_report(tmp_path / "out", log, metrics="coverage"))
    assert "<script" not in page and "<img" not in page and page.count("</style>") == 1


# -- commands ------------------------------------------------------------------------------------------------


def test_the_command_writes_the_public_page_again(release: Path, tmp_path: Path) -> None:
    before = snapshot(release)
    made = command("report", str(release), "--json")
    assert made.code == 0
    assert made.document == {"report": f"{release}-report.html", "for": "public", "release": str(release)}
    assert Path(made.document["report"]).read_bytes() == (release / "report.html").read_bytes()
    again = command("report", str(release))
    assert again.code == 2 and "exists already" in again.err
    other = command("report", str(release), "--out", str(tmp_path / "new" / "page.html"))
    assert other.code == 0 and (tmp_path / "new" / "page.html").exists() and "nothing beyond" in other.out
    assert snapshot(release) == before


def test_a_published_folder_is_never_written_to(release: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(release)
    for out in (release / "new.html", release / "deep" / "new.html", tmp_path / "link" / "new.html", release):
        refused = command("report", str(release), "--out", str(out))
        assert refused.code == 2 and ("never changed" in refused.err or "exists" in refused.err), out
    assert command("report", str(tmp_path / "link"), "--out", str(release / "x.html")).code == 2
    assert qv.verify(release).passes


def test_a_changed_release_gets_no_report(release: Path) -> None:
    (release / "DATASHEET.md").write_text("All is well.")
    refused = command("report", str(release))
    assert refused.code == 1 and "release verify" in refused.err
    assert not release.with_name("out-report.html").exists()


def test_the_command_of_the_curator(release: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(LOG, tmp_path / "log.parquet")
    made = command(
        "report",
        str(release),
        "--curator",
        "--log",
        str(tmp_path / "log.parquet"),
        "--metric",
        "coverage@2",
        "--json",
    )
    assert made.code == 0 and made.document["for"] == "curator"
    assert "coverage@2" in text(Path(made.document["report"]))
    again = command("report", str(release), "--curator")
    assert again.code == 0 and "for you alone" in again.out, "one's own page is replaced"


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        (("--curator", "--out", "x.html"), 2, "private folder"),
        (("--log", "log.parquet"), 2, "pass --curator"),
        (("--metric", "coverage"), 2, "pass --curator"),
        (("--curator", "--metric", "coverage"), 2, "pass --log"),
        (("--curator", "--log", "log.parquet", "--metric", "coverag"), 2, "did you mean"),
        (("--curator", "--log", "nowhere.tsv"), 3, "nowhere.tsv"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(asked: tuple[str, ...], code: int, words: str, release: Path) -> None:
    refused = command("report", str(release), *asked)
    assert refused.code == code and words in refused.err and refused.err.count("\n") == 1


@pytest.mark.parametrize("what", ["nothing", "a file", "an empty folder", "a broken manifest"])
def test_what_is_no_release_is_refused(what: str, tmp_path: Path) -> None:
    here = tmp_path / "x"
    if what == "a file":
        here.write_bytes(os.urandom(100))
    elif what != "nothing":
        here.mkdir()
        if what == "a broken manifest":
            (here / "manifest.json").write_text('{"method": 3')
    for more in ((), ("--curator",)):
        refused = command("report", str(here), *more)
        assert refused.code == 3 and refused.err.count("\n") == 1
    assert command("release", "export", str(here), "--out", str(tmp_path / "csv")).code == 3
    assert not (tmp_path / "x.private").exists() and not (tmp_path / "csv").exists()


def test_a_release_named_by_a_dot(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(release)
    assert qv.write_report(".") == release.with_name("out-report.html")
    assert qv.write_curator_report(".").parent == release.with_name("out.private")


def test_export_to_a_spreadsheet(tmp_path: Path) -> None:
    qv.publish(qv.read(pages.hostile_log()), pages.METHODS["probabilistic"], out=tmp_path / "out")
    made = command("release", "export", str(tmp_path / "out"), "--out", str(tmp_path / "csv"), "--json")
    assert made.code == 0 and made.document["files"] == [str(tmp_path / "csv" / "items.csv")]
    lines = text(tmp_path / "csv" / "items.csv").splitlines()
    assert lines[0] == "query,count" and len(lines) == 1 + len(pages.HOSTILE)
    assert sum(line.startswith("'") for line in lines) == 3
    inside = command("release", "export", str(tmp_path / "out"), "--out", str(tmp_path / "out" / "csv"))
    assert inside.code == 2 and "a published folder is never changed" in inside.err
    again = command("release", "export", str(tmp_path / "out"), "--out", str(tmp_path / "csv"))
    assert again.code == 2 and "exists already" in again.err


def test_an_attack_is_kept_by_its_command(tmp_path: Path) -> None:
    qv.publish(qv.read(pages.hostile_log()), pages.METHODS["approximate"], out=tmp_path / "out")
    made = command("attack", "sybil", str(tmp_path / "out"), "--trials", "3", "--save", "--json")
    assert made.code == 0 and made.document["saved"] == [
        str(tmp_path / "out.private" / "attacks" / "sybil.json")
    ]
    assert "<h3>sybil</h3>" in text(qv.write_curator_report(tmp_path / "out"))
    alone = ("attack", "sybil", "--epsilon", "2", "--delta", "1e-2", "--max-queries", "2", "--trials", "3")
    refused = command(*alone, "--save")
    assert refused.code == 2 and "no release" in refused.err
