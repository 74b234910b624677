"""Personal identifiers in a text: mail addresses, phone numbers, cards, national ids, accounts, IP addresses, logins.

What has a check digit is checked, what has none must have its strict form, so that plain numbers are left alone. It
finds forms, not meaning: a name, an address of a house, or a number written in words passes. Phone numbers are
judged by the library phonenumbers, national ids and accounts by python-stdnum.

Nobody types 10,000 characters: a longer text was pasted, and is not searched. It counts as an identifier as a whole, so
that nothing in it is missed. Below that, the time is in proportion to the length.
"""

from __future__ import annotations

import functools
import importlib
import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queryveil.errors import UsageError

if TYPE_CHECKING:
    import ibis.expr.types as ir

LONGEST_TEXT = 10_000
"""Characters; a longer text is not searched, and is an identifier of the kind `long-text` as a whole."""

KINDS = ("long-text", "url-credentials", "email", "iban", "card", "national-id", "ip-address", "phone")
"""In the order in which they are looked for; what one has taken, the next does not see."""

REGIONS = ("US",)
"""Where phone numbers without a country code are from."""

CANDIDATE = r"@|::|=|(?:\p{Nd}[^\p{Nd}]*){6}|(?:\p{Nd}{1,3}\.){3}\p{Nd}|(?:[0-9A-Fa-f]{1,4}:){2}"
"""Matches every text that can have an identifier, and few others; for engines (the syntax of RE2 and Java)."""


@dataclass(frozen=True, order=True)
class Identifier:
    """Where an identifier is in a text, and of what kind. It does not hold the text itself."""

    start: int
    end: int
    kind: str


def find_identifiers(text: str, regions: Sequence[str] = REGIONS) -> list[Identifier]:
    """The identifiers of a text, from left to right, none inside another.

    >>> find_identifiers("mail ann.lee@example.com or call 201-555-0123")
    [Identifier(start=5, end=24, kind='email'), Identifier(start=33, end=45, kind='phone')]
    """
    if len(text) > LONGEST_TEXT:
        return [Identifier(0, len(text), "long-text")]
    found: list[Identifier] = []
    left = text
    for kind, spans in _FINDERS.items():
        if kind == "phone" and sum(one.isdecimal() for one in left) < _FEWEST_PHONE_DIGITS:
            continue
        for start, end in sorted(spans(left, regions)):
            if "\0" not in left[start:end]:
                found.append(Identifier(start, end, kind))
                # Nothing matches this character, and places stay what they are.
                left = left[:start] + "\0" * (end - start) + left[end:]
    return sorted(found)


def may_have_identifier(query: ir.StringValue) -> ir.BooleanValue:
    """Whether a text has to be searched, as an engine's expression: it is so for every text with an identifier."""
    return query.re_search(CANDIDATE) | (query.length() > LONGEST_TEXT)


def scrub_identifiers(text: str, regions: Sequence[str] = REGIONS) -> str:
    """The text with the kind of each identifier in its place; `<long-text>` for one of more than 10,000 characters.

    >>> scrub("mail ann.lee@example.com or call 201-555-0123")
    'mail <email> or call <phone>'
    """
    for one in reversed(find_identifiers(text, regions)):
        text = f"{text[: one.start]}<{one.kind}>{text[one.end :]}"
    return text


def check_regions(regions: Iterable[str]) -> None:
    """Refuse a region that phone numbers cannot be from."""
    known = _import_phonenumbers().SUPPORTED_REGIONS
    for region in regions:
        if region not in known:
            raise UsageError(
                f"there is no phone region '{region}'", "use two letters in capitals, such as US, GB or DE"
            )


# -- by their form -------------------------------------------------------------------------------------------

Spans = Iterator[tuple[int, int]]

# These two also match runs that are none, without the group, so that the search does not start again at each character.
_EMAIL = re.compile(r"[\w.+%-]++(?P<found>@(?:[\w-]++\.)+[^\W\d_]{2,})?")
_LOGIN = re.compile(
    r"(?P<found>[^\s:/@\0]++:[^\s/@\0]++@[\w-]++(?:\.[\w-]++)*+(?:[:/?][^\s\0]*+)?)|:++|[^\s/@\0]++",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}+://\Z", re.IGNORECASE)
_LONGEST_SCHEME = 34  # with ://
_SECRET_PARAMETER = re.compile(
    r"[?&;](?:password|passwd|pwd|pass|token|access_token|auth|api_?key|key|secret|session|sessionid|sid|jsessionid"
    r"|phpsessid)=[^&;\s\0]+",
    re.IGNORECASE,
)
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)", re.ASCII)
_IPV6 = re.compile(
    r"(?<![\w:.])(?=[0-9a-f:]*:[0-9a-f:]*:)[0-9a-f:]{3,39}(?:\d+\.\d+\.\d+)?(?![\w:])", re.IGNORECASE
)
_NOT_BEFORE = r"(?<![\w@])(?<!\d[-./])"
_NOT_AFTER = r"(?![\w@]|[-./]\d)"
_CARD = re.compile(
    _NOT_BEFORE + r"(?:\d{13,19}|\d{4}(?:[ -]\d{4}){3}(?:[ -]?\d{1,3})?|\d{4}[ -]\d{6}[ -]\d{5})" + _NOT_AFTER
)
_IBAN = re.compile(r"(?<!\w)[a-z]{2}\d{2}(?: ?[a-z0-9]){11,30}", re.IGNORECASE)
_NORTH_AMERICAN = re.compile(
    rf"{_NOT_BEFORE}(?:\+?1[-. ]?)?(?:\(\d{{3}}\) ?|\d{{3}}[-. ])\d{{3}}[-. ]\d{{4}}{_NOT_AFTER}"
)
"""The shape alone is enough: numbers that are not given out yet, or kept for fiction, are meant as phone numbers."""
_FEWEST_PHONE_DIGITS = 7


def _find_emails(text: str, _: Sequence[str]) -> Spans:
    return (one.span() for one in _EMAIL.finditer(text) if one["found"]) if "@" in text else iter(())


def _find_logins(text: str, _: Sequence[str]) -> Spans:
    if "@" in text:
        before = 0
        for one in _LOGIN.finditer(text):
            if one["found"]:
                start = max(before, one.start() - _LONGEST_SCHEME)
                scheme = _SCHEME.search(text[start : one.start()])
                yield start + scheme.start() if scheme else one.start(), one.end()
                before = one.end()
    if "=" in text:
        yield from (one.span() for one in _SECRET_PARAMETER.finditer(text))


def _find_addresses(text: str, _: Sequence[str]) -> Spans:
    for pattern in (_IPV4, _IPV6):
        for one in pattern.finditer(text):
            try:
                ipaddress.ip_address(one.group())
            except ValueError:
                continue
            yield one.span()


# -- by their check digits -----------------------------------------------------------------------------------


def _find_cards(text: str, _: Sequence[str]) -> Spans:
    for one in _CARD.finditer(text):
        digits = re.sub(r"\D", "", one.group())
        if 13 <= len(digits) <= 19 and len(set(digits)) > 1 and _is_valid("luhn", digits):
            yield one.span()


def _find_accounts(text: str, _: Sequence[str]) -> Spans:
    for one in _IBAN.finditer(text):
        # Words that follow look like a part of it: the length that fits is found by the check digits.
        for end in range(one.end(), one.start() + 14, -1):
            inside = text[one.start() : end]
            if not text[end : end + 1].isalnum() and inside[-1] != " " and _is_valid("iban", inside):
                yield one.start(), end
                break


def _find_phones(text: str, regions: Sequence[str]) -> Spans:
    yield from (one.span() for one in _NORTH_AMERICAN.finditer(text))
    library = _import_phonenumbers()
    for region in regions:
        for one in library.PhoneNumberMatcher(text, region, leniency=library.Leniency.VALID):
            yield one.start, one.end


@dataclass(frozen=True)
class _NationalId:
    """A national id: where its text can start and end, and the module of python-stdnum that checks it."""

    pattern: re.Pattern[str]
    module: str | None = None

    def find_spans(self, text: str) -> Spans:
        for one in self.pattern.finditer(text):
            if self.module is None or _is_valid(self.module, one.group()):
                yield one.span()


def _national_id(shape: str, module: str | None = None) -> _NationalId:
    return _NationalId(re.compile(f"{_NOT_BEFORE}(?:{shape}){_NOT_AFTER}", re.IGNORECASE | re.ASCII), module)


# Ids whose check leaves one plain number in ten or so are only taken in their written form, with its separators.
_NATIONAL_IDS = (
    _national_id(r"\d{3}-\d{2}-\d{4}"),  # United States: social security, taxpayers
    _national_id(r"(?<=ssn )\d{9}"),
    _national_id(
        r"(?!bg|gb|nk|kn|tn|nt|zz)[abceghj-prstw-z][abceghj-nprstw-z] ?\d{2} ?\d{2} ?\d{2} ?[a-d]"
    ),  # United Kingdom
    _national_id(r"\d{3}[- ]\d{3}[- ]\d{3}", "ca.sin"),
    _national_id(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", "de.idnr"),
    _national_id(r"[123478] ?\d{2} ?[0-9]{2} ?(?:\d{2}|2[ab]) ?\d{3} ?\d{3} ?\d{2}", "fr.nir"),
    _national_id(r"[a-z]{6}\d{2}[a-ehlmprst]\d{2}[a-z]\d{3}[a-z]", "it.codicefiscale"),
    _national_id(r"\d{8}-?[a-z]", "es.dni"),
    _national_id(r"[xyz]-?\d{7}-?[a-z]", "es.nie"),
    _national_id(r"\d{2}\.\d{2}\.\d{2}[- ]\d{3}\.\d{2}|\d{11}", "be.nn"),
    _national_id(r"756\.?\d{4}\.?\d{4}\.?\d{2}", "ch.ssn"),
    _national_id(r"(?:\d{2})?\d{6}[-+]\d{4}", "se.personnummer"),
    _national_id(r"\d{6}-\d{4}", "dk.cpr"),
    _national_id(r"\d{6} ?\d{5}", "no.fodselsnummer"),
    _national_id(r"\d{6}[-+a]\d{3}[0-9a-y]", "fi.hetu"),
    _national_id(r"\d{11}", "pl.pesel"),
    _national_id(r"\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}", "br.cpf"),
    _national_id(r"[a-z]{4}\d{6}[hm][a-z]{5}[0-9a-z]\d", "mx.curp"),
    _national_id(
        r"(?!20\d\d(?:[ -](?:19|20)\d\d){2})[2-9]\d{3}[ -]\d{4}[ -]\d{4}", "in_.aadhaar"
    ),  # no three years
    _national_id(r"\d{17}[0-9x]", "cn.ric"),
    _national_id(r"\d{6}-\d{7}", "kr.rrn"),
    _national_id(r"\d{13}", "za.idnr"),
)


def _national_ids(text: str, _: Sequence[str]) -> Spans:
    for one in _NATIONAL_IDS:
        yield from one.find_spans(text)


_FINDERS: dict[str, Callable[[str, Sequence[str]], Spans]] = {
    "url-credentials": _find_logins,
    "email": _find_emails,
    "iban": _find_accounts,
    "card": _find_cards,
    "national-id": _national_ids,
    "ip-address": _find_addresses,
    "phone": _find_phones,
}


# -- libraries -----------------------------------------------------------------------------------------------


def _is_valid(module: str, text: str) -> bool:
    """Whether a module of python-stdnum takes the text for what it is about."""
    check = _import_stdnum(module).is_valid
    try:
        return bool(check(text))
    except Exception:  # noqa: BLE001 (a check that stumbles, over a place that it does not know, has not passed)
        return False


@functools.cache
def _import_stdnum(module: str) -> Any:
    return _import_library(f"stdnum.{module}")


@functools.cache
def _import_phonenumbers() -> Any:
    return _import_library("phonenumbers")


def _import_library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise UsageError(
            "finding personal identifiers needs the libraries phonenumbers and python-stdnum",
            "install queryveil[language]",
        ) from None
