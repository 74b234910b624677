"""Who is in: one-time links, passwords, and what a browser carries to be known again."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from queryveil.show.web.logs import LogSnapshot

_LONGEST = 12 * 3600.0
"""Seconds after which a browser that was quiet has to come in again."""
_MOST = 200
_TRIES = 5
"""Wrong passwords in a row before their address has to wait."""
_WAIT = 30.0
_MOST_ADDRESSES = 10_000
_IPV6_PREFIX = 64
"""Bits of an IPv6 address that count: one customer usually has all addresses with the same ones."""


@dataclass
class Session:
    """One browser."""

    id: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    who: str | None = None
    """The name that the ledger notes, where several people share a workbench."""
    seen: float = field(default_factory=time.monotonic)
    kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Settings to compare, by log."""
    looked: dict[str, set[str]] = field(default_factory=dict)
    """Settings whose previews were seen, by log: choosing among them has a price."""
    reading: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """How this browser reads a log, by log: another browser may read it in another way."""
    confirmed: dict[str, str] = field(default_factory=dict)
    """By log, the digest of the snapshot whose columns were confirmed."""

    def has_confirmed(self, log: LogSnapshot) -> bool:
        """Whether this browser confirmed the columns of exactly this snapshot."""
        return bool(log.digest) and self.confirmed.get(log.id) == log.digest


@dataclass
class _Failures:
    """Wrong passwords from one address."""

    count: int = 0
    blocked_until: float = 0.0


def _network_prefix(address: str) -> str:
    """Return the part of an address that one person is assumed to have."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 4:
        return str(found)
    return str(ipaddress.ip_network((found, _IPV6_PREFIX), strict=False))


class Sessions:
    """All browsers that are in, and the link that lets the next one in."""

    def __init__(self, password: str | None) -> None:
        self._password = password
        self._open: dict[str, Session] = {}
        self._token: str | None = None
        self._used: deque[str] = deque(maxlen=_MOST)
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def new_token(self) -> str:
        """A token for one opening link; the one before it is worth nothing any more."""
        self._token = secrets.token_urlsafe(32)
        return self._token

    def redeem(self, token: str) -> Session | None:
        """A session for the token of the opening link, once."""
        if self._token is None or not hmac.compare_digest(self._token.encode(), token.encode()):
            return None
        self._used.append(self._token)
        self._token = None
        return self._enter(Session())

    def was_used(self, token: str) -> bool:
        """Whether a link with this token let a browser in: whoever has it may ask for another."""
        return token in self._used

    @property
    def link_waits(self) -> bool:
        """Whether the last link was not used yet. No request makes it worth nothing but the one that uses it."""
        return self._token is not None

    def is_blocked(self, address: str) -> bool:
        """Whether too many wrong passwords came from an address. Other addresses can still sign in."""
        failures = self._failures.get(_network_prefix(address))
        return failures is not None and time.monotonic() < failures.blocked_until

    def login(self, password: str, who: str, address: str) -> Session | None:
        """Return a session for the password, unless too many wrong ones came from this address."""
        if self._password is None or self.is_blocked(address):
            return None
        if not hmac.compare_digest(self._password.encode(), password.encode()):
            self._note_failure(_network_prefix(address))
            return None
        self._failures.pop(_network_prefix(address), None)
        return self._enter(Session(who=who or None))

    def _note_failure(self, network: str) -> None:
        failures = self._failures.setdefault(network, _Failures())
        self._failures.move_to_end(network)
        failures.count += 1
        if failures.count >= _TRIES:
            failures.count, failures.blocked_until = 0, time.monotonic() + _WAIT
        while len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def _enter(self, session: Session) -> Session:
        self._open[session.id] = session
        while len(self._open) > _MOST:
            del self._open[min(self._open.values(), key=lambda one: one.seen).id]
        return session

    def find(self, id: str | None) -> Session | None:
        session = self._open.get(id or "")
        if session is None:
            return None
        now = time.monotonic()
        if now - session.seen > _LONGEST:
            del self._open[session.id]
            return None
        session.seen = now
        return session

    def leave(self, session: Session) -> None:
        self._open.pop(session.id, None)
