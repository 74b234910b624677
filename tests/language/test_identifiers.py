"""Personal identifiers are found by their form and check digits; plain numbers are left alone."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language import identifiers

FOUND = {
    "ann.lee12@example.com": "<email>",
    "mail ann@mail.example.co.uk, please": "mail <email>, please",
    "9999 0197 0476 1356": "<card>",
    "card 4111111111111111 stolen": "card <card> stolen",
    "4111-1111-1111-1111": "<card>",
    "amex 3782 822463 10005": "amex <card>",
    "666-52-0887": "<national-id>",
    "ssn 078051120": "ssn <national-id>",
    "nino ab 12 34 56 c": "nino <national-id>",
    "idnr 36 574 261 809": "idnr <national-id>",
    "nir 2 69 05 49 588 157 80": "nir <national-id>",
    "rssmra85t10a562s": "<national-id>",
    "dni 54362315k": "dni <national-id>",
    "cpf 390.533.447-05": "cpf <national-id>",
    "ahv 756.9217.0769.85": "ahv <national-id>",
    "hetu 131052-308t": "hetu <national-id>",
    "call 201-555-0100": "call <phone>",
    "(415) 555-0134 anna": "<phone> anna",
    "2125551234": "<phone>",
    "+44 20 7946 0958": "<phone>",
    "pay de89 3704 0044 0532 0130 00 now": "pay <iban> now",
    "gb29nwbk60161331926819": "<iban>",
    "ping 192.0.2.17": "ping <ip-address>",
    "2001:db8::ff00:42:8329 down": "<ip-address> down",
    "ftp://bob:pw1@files.example.org/a b": "<url-credentials> b",
    "bob:pw1@files.example.org": "<url-credentials>",
    "http://x.example/?user=bob&password=pw1": "http://x.example/?user=bob<url-credentials>",
    "ann@example.com and 201-555-0100": "<email> and <phone>",
}
LEFT_ALONE = (
    "4111 1111 1111 1112",  # the check digit is wrong
    "0000000000000000",
    "de89370400440532013001",
    "rssmra85t10a562x",
    "dni 54362315a",
    "qq 12 34 56 c",  # never given out
    "1998 2004 2005 2006",
    "10/12/2004 12/11/2005",
    "2004-12-10 11:12:13",
    "zip 90210-1234",
    "isbn 978-0-306-40615-7",
    "version 1.2.3",
    "300.1.1.1",
    "std::vector",
    "12:30:45",
    "psalm 119:105",
    "ann @ work",
    "1920x1080 wallpaper",
    "$12,345.67",
    "flight ba 2490 747-400",
    "",
)


@pytest.mark.parametrize("text", FOUND)
def test_found(text: str) -> None:
    assert qv.scrub_identifiers(text) == FOUND[text]


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_left_alone(text: str) -> None:
    assert qv.find_identifiers(text) == [] and qv.scrub_identifiers(text) == text


def test_phone_numbers_without_a_country_code_are_of_a_region() -> None:
    assert qv.scrub_identifiers("020 7946 0958") == "020 7946 0958"
    assert qv.scrub_identifiers("020 7946 0958", ["US", "GB"]) == "<phone>"
    with pytest.raises(qv.UsageError, match="no phone region 'uk'"):
        identifiers.check_regions(["uk"])


texts = st.text(st.sampled_from("0123456789 -./:@+()abxyz=?&é\u0663"), max_size=40)
# Random text seldom holds an identifier; put around one, it tries what may stand beside it.
with_identifiers = st.builds("{}{}{}".format, texts, st.sampled_from(sorted(FOUND)), texts)


@settings(max_examples=400, deadline=None)
@given(texts | st.text(max_size=40))
def test_any_text_is_taken_and_places_are_in_order(text: str) -> None:
    found = qv.find_identifiers(text)
    places = [place for one in found for place in (one.start, one.end)]
    assert places == sorted(places) and all(0 <= place <= len(text) for place in places)
    assert all(one.start < one.end and one.kind in identifiers.KINDS for one in found)
    left = qv.scrub_identifiers(text)
    assert (left == text) == (not found)


def test_engines_are_asked_for_every_text_that_has_an_identifier() -> None:
    """The cheap test that runs in the engine may not lose what the exact one would find."""

    @settings(max_examples=300, deadline=None)
    @given(st.lists(texts | with_identifiers, min_size=30, max_size=30))
    def gather(given: list[str]) -> None:
        collected.extend(text for text in given if qv.find_identifiers(text))

    collected: list[str] = list(FOUND)
    gather()
    engine = qv.connect()
    table = engine.register(pa.table({"query": collected}))
    kept = engine.arrow(table.filter(table["query"].re_search(identifiers.CANDIDATE)))
    assert kept.num_rows == len(collected) > len(FOUND)


def test_an_identifier_does_not_hold_its_text() -> None:
    [one] = qv.find_identifiers("ann.lee@example.com")
    assert "ann" not in repr(one) and (one.start, one.end, one.kind) == (0, 19, "email")


def test_planted_secrets_that_have_a_form_are_found_and_nothing_else(tmp_path: Path) -> None:
    qv.generate(tmp_path / "log.parquet", qv.LogSettings(version=1, users=1_000, seed=3, secrets=120))
    with (tmp_path / "log.parquet.secrets.tsv").open(encoding="utf-8") as listed:
        truth = {qv.normalise(row["query"]): row["kind"] for row in csv.DictReader(listed, delimiter="\t")}
    log = qv.read(tmp_path / "log.parquet")
    queries = log.engine.arrow(log.queries.select("query").distinct())["query"].to_pylist()
    found = {text: {one.kind for one in qv.find_identifiers(text)} for text in queries}
    for text, kinds in found.items():
        kind = truth.get(text, "")
        # Names with an address or an illness have no form to be found by.
        expected = set() if kind.startswith("person") or not kind else {kind}
        assert kinds == expected
    assert {"card", "email", "national-id", "phone"} < set(truth.values())


def test_without_the_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    for cached in (identifiers._import_stdnum, identifiers._import_phonenumbers):
        cached.cache_clear()
    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(qv.UsageError, match=r"install queryveil\[language\]"):
        qv.find_identifiers("call 201-555-0100")
    with pytest.raises(qv.UsageError, match=r"install queryveil\[language\]"):
        qv.find_identifiers("4111111111111111")
