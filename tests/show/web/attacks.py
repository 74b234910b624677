"""Attacks on the workbench itself, each with what it tries and what must be answered.

    python -m tests.show.web.attacks docs/evidence/web-attacks.md

runs them all and writes the table. `test_attacks.py` runs them too, and compares.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.show.web.conftest import BASE, Starter, Visitor, opened_benches, write_logs


@dataclass(frozen=True)
class Attack:
    """One attack: `run` gets a way to start workbenches, and returns what was answered."""

    name: str
    tries: str
    run: Callable[[Starter], str]
    expected: str
    """A pattern that the answer has to match."""


ATTACKS: list[Attack] = []


def attack(
    name: str, tries: str, expected: str
) -> Callable[[Callable[[Starter], str]], Callable[[Starter], str]]:
    def added(run: Callable[[Starter], str]) -> Callable[[Starter], str]:
        ATTACKS.append(Attack(name, tries, run, expected))
        return run

    return added


def said(answer: Any) -> str:
    """Status, and the first sentence of an answer."""
    found = re.search(r'role="alert">\s*(?:<h1>[^<]*</h1>)?\s*<p>([^<]+)', answer.text)
    plain = "text/plain" in answer.headers.get("content-type", "")
    return (
        f"{answer.status_code} {found[1].strip() if found else answer.text.strip() if plain else ''}".strip()
    )


def confirmed_log(visitor: Visitor) -> str:
    """The id of a log whose columns this visitor confirmed."""
    log = re.search(r'href="/log/(\w+)"><b>log.tsv', visitor.look("/log").text)[1]
    visitor.waited(f"/log/{log}")
    visitor.submit(f"/log/{log}/confirm")
    return log


@attack("No cookie", "Open a page of the workbench without having used the link", "303 to /enter")
def _(start: Starter) -> str:
    answer = start(inside=False).get("/log", follow_redirects=False)
    return f"{answer.status_code} to {answer.headers['location']}"


@attack("Guessed cookie", "Send a made-up session cookie", "303 to /enter")
def _(start: Starter) -> str:
    visitor = start(inside=False)
    answer = visitor.get("/log", headers={"cookie": "queryveil-8765=" + "A" * 43}, follow_redirects=False)
    return f"{answer.status_code} to {answer.headers['location']}"


@attack("Used link", "Open the opening link a second time, from another browser", "403; no cookie")
def _(start: Starter) -> str:
    visitor = start(inside=False)
    token = visitor.bench.sessions.new_token()
    visitor.get(f"/open?token={token}")
    visitor.cookies.clear()
    answer = visitor.get(f"/open?token={token}")
    return f"{answer.status_code}; {'cookie' if 'set-cookie' in answer.headers else 'no cookie'}"


@attack(
    "Guessed link",
    "Open a made-up link three times before the printed one is used",
    "403 3 times; no new link; printed link 200",
)
def _(start: Starter) -> str:
    visitor = start(inside=False)
    told: list[str] = []
    visitor.bench.tell = told.append
    token = visitor.bench.sessions.new_token()
    codes = [visitor.get(f"/open?token={'A' * 43}").status_code for _ in range(3)]
    printed = visitor.get(f"/open?token={token}").status_code
    return f"{codes[0]} {len(codes)} times; {len(told) or 'no'} new link; printed link {printed}"


@attack("Cookie that travels", "Read how the cookie may be used", "HttpOnly, SameSite=strict")
def _(start: Starter) -> str:
    visitor = start(inside=False)
    cookie = visitor.get(f"/open?token={visitor.bench.sessions.new_token()}").headers["set-cookie"]
    return ", ".join(part for part in ("HttpOnly", "SameSite=strict") if part in cookie)


@attack("DNS rebinding", "Ask by the name of an attacker's site that points to 127.0.0.1", "421 .*name")
def _(start: Starter) -> str:
    return said(start().get("/log", headers={"host": "evil.example:8765"}))


@attack("Another port", "Ask with the port of another service in the Host header", "421 .*name")
def _(start: Starter) -> str:
    return said(start().get("/log", headers={"host": "127.0.0.1:80"}))


@attack(
    "Cross-site form", "Send a form from another site's page, with the visitor's cookie", "403 .*another site"
)
def _(start: Starter) -> str:
    visitor = start()
    return said(
        visitor.submit("/leave", headers={"origin": "http://evil.example", "sec-fetch-site": "cross-site"})
    )


@attack("No CSRF token", "Send a form from here without its token", "403 .*not from your open workbench")
def _(start: Starter) -> str:
    visitor = start()
    return said(visitor.post("/leave", data={}, headers={"origin": BASE}))


@attack(
    "Another's CSRF token",
    "Send a form with the token of another session",
    "403 .*not from your open workbench",
)
def _(start: Starter) -> str:
    visitor = start()
    other = visitor.bench.sessions.redeem(visitor.bench.sessions.new_token())
    return said(visitor.submit("/leave", {"csrf": other.csrf}))


@attack(
    "Inline script",
    "Look for any script or style inside a page, and whether a policy forbids them",
    "none; forbidden",
)
def _(start: Starter) -> str:
    answer = start().look("/log")
    inside = re.findall(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", answer.text)
    policy = answer.headers["content-security-policy"]
    strict = "script-src 'self'" in policy and "unsafe" not in policy and "default-src 'none'" in policy
    return f"{'some' if inside else 'none'}; {'forbidden' if strict else 'allowed'}"


@attack("Framing", "Show the workbench inside another page", "frame-ancestors 'none', DENY")
def _(start: Starter) -> str:
    headers = start().get("/log").headers
    policy = (
        "frame-ancestors 'none'"
        if "frame-ancestors 'none'" in headers["content-security-policy"]
        else "framed"
    )
    return f"{policy}, {headers['x-frame-options']}"


@attack("Traversal by address", "Ask for files outside of the folders by ../ in an address", "404, 404, 404")
def _(start: Starter) -> str:
    visitor = start()
    tried = (
        "/log/..%2F..%2Fetc%2Fpasswd",
        "/static/..%2f..%2fapp.py",
        "/releases/..%2f..%2fhome/report.html",
    )
    return ", ".join(str(visitor.get(one).status_code) for one in tried)


@attack("Traversal by link", "Choose a file that is a link out of an allowed folder", "not listed; 404")
def _(start: Starter) -> str:
    import hashlib

    visitor = start()
    folder = visitor.bench.settings.folders[0]
    id = hashlib.sha256(str(folder / "link.tsv").encode()).hexdigest()[:12]
    listed = "listed" if "link.tsv" in visitor.look("/log").text else "not listed"
    return f"{listed}; {visitor.get(f'/log/{id}').status_code}"


@attack(
    "Traversal by upload", "Upload a file named ../../escape.tsv", "kept as escape.tsv inside the uploads"
)
def _(start: Starter) -> str:
    visitor = start()
    visitor.submit("/log/upload", files={"file": ("../../escape.tsv", b"user\tquery\n1\tx\n")})
    home = visitor.bench.settings.home
    found = list(home.parent.rglob("escape.tsv"))
    inside = all(one.is_relative_to(visitor.bench.settings.uploads) for one in found)
    return f"kept as {found[0].name} {'inside' if inside else 'outside'} the uploads"


@attack("Traversal by release name", "Publish a release named ../outside", "400 .*letters, figures")
def _(start: Starter) -> str:
    visitor = start()
    log = confirmed_log(visitor)
    given = {"method": "zealous", "epsilon": "1", "delta": "1e-4", "name": "../outside", "confirmed": "yes"}
    return said(visitor.submit(f"/publish/{log}", given))


@attack(
    "Another's confirmation",
    "Publish from a log whose columns only another person confirmed, and confirm what another tab changed meanwhile",
    "303 to /log; 303 to /log",
)
def _(start: Starter) -> str:
    visitor = start()
    log = confirmed_log(visitor)
    other = Visitor(visitor.app, base_url=BASE)
    other.get(f"/open?token={visitor.bench.sessions.new_token()}")
    other.waited(f"/log/{log}")
    given = {"method": "zealous", "epsilon": "1", "delta": "1e-4", "name": "x", "confirmed": "yes"}
    answers = [other.submit(f"/publish/{log}", given, follow_redirects=False)]
    tab = Visitor(visitor.app, base_url=BASE)
    tab.cookies.update(other.cookies)
    tab.look("/log")
    tab.submit(f"/log/{log}/read", {"column-user": "query", "column-query": "user"})
    tab.waited(f"/log/{log}")
    answers.append(other.submit(f"/log/{log}/confirm", follow_redirects=False))
    return "; ".join(
        f"{one.status_code} to {one.headers['location'].split(log)[0].rstrip('/')}" for one in answers
    )


@attack("A file by a parameter", "Name a file of this machine as a method's public list", "not taken")
def _(start: Starter) -> str:
    visitor = start()
    log = confirmed_log(visitor)
    found = visitor.get(
        f"/design/{log}/preview?method=zealous&epsilon=1&delta=1e-4&public=/etc/passwd"
    ).json()
    return "taken" if "passwd" in found["command"] else "not taken"


@attack("Huge upload", "Send more than is allowed, and say so", "413 .*bytes")
def _(start: Starter) -> str:
    visitor = start(most_upload=1_000)
    return said(visitor.submit("/log/upload", files={"file": ("big.tsv", b"x" * 2_000_000)}))


@attack("Huge upload, unannounced", "Send more than is allowed in chunks, without a length", "413 .*bytes")
def _(start: Starter) -> str:
    visitor = start(most_upload=1_000)

    def chunks() -> Any:
        yield b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.tsv"\r\n\r\n'
        for _ in range(40):
            yield b"x" * 100_000

    headers = {"content-type": "multipart/form-data; boundary=b", "origin": BASE}
    return said(visitor.post("/log/upload", content=chunks(), headers=headers))


@attack("Huge form", "Send megabytes to a form that needs a word", "413 .*bytes")
def _(start: Starter) -> str:
    return said(start().submit("/enter", {"password": "x" * 2_000_000}))


@attack("Open redirect", "Ask to be sent to another site after cancelling", "404|/log")
def _(start: Starter) -> str:
    visitor = start()
    log = re.search(r'href="/log/(\w+)"', visitor.look("/log").text)[1]
    job = re.search(r'data-job="(\w+)"', visitor.look(f"/log/{log}").text)[1]
    answer = visitor.submit(f"/jobs/{job}/cancel", {"back": "//evil.example"}, follow_redirects=False)
    return str(answer.headers["location"])


@attack(
    "Hostile names and values",
    "Put markup into addresses, fields and the name of an upload",
    "escaped everywhere",
)
def _(start: Starter) -> str:
    visitor, bad = start(), "<script>alert(1)</script>"
    log = re.search(r'href="/log/(\w+)"', visitor.look("/log").text)[1]
    seen = [
        visitor.submit("/log/upload", files={"file": (f"{bad}.tsv", b"user\tquery\n1\tx\n")}).text,
        visitor.get(f"/design/{log}?method={bad}&epsilon={bad}").text,
        visitor.get(f"/publish/{log}?source={bad}").text,
        visitor.submit(f"/log/{log}/read", {"column-user": bad, "column-query": bad}).text,
        visitor.get(f"/attack/{log}?release={bad}").text,
    ]
    return "found" if any(bad in one for one in seen) else "escaped everywhere"


@attack(
    "What a browser keeps", "Read the cache headers of all pages with content of a log", "no-store on all"
)
def _(start: Starter) -> str:
    visitor = start()
    log = re.search(r'href="/log/(\w+)"', visitor.look("/log").text)[1]
    pages = ("/log", f"/log/{log}", f"/risk/{log}", f"/design/{log}", f"/design/{log}/preview", "/history")
    kept = [one for one in pages if visitor.get(one).headers["cache-control"] != "no-store"]
    return "kept: " + ", ".join(kept) if kept else "no-store on all"


@attack("Other verbs", "Send PUT, DELETE, OPTIONS", "405, 405, 405")
def _(start: Starter) -> str:
    visitor = start()
    return ", ".join(str(visitor.request(one, "/log").status_code) for one in ("PUT", "DELETE", "OPTIONS"))


@attack(
    "Guessed passwords",
    "From another machine: six wrong passwords, then the right one",
    "403 5 times; then 429; right one 429",
)
def _(start: Starter) -> str:
    visitor: Visitor = start(inside=False, password=" ".join(("correct", "horse", "battery")))
    codes = [visitor.submit("/enter", {"password": f"guess {n}", "who": "x"}).status_code for n in range(6)]
    last = visitor.submit("/enter", {"password": "correct horse battery", "who": "x"}, follow_redirects=False)
    return f"{codes[0]} {codes.count(403) + codes.count(429) - 1} times; then {codes[-1]}; right one {last.status_code}"


def table(start: Starter) -> str:
    """All attacks and their answers, as a page."""
    rows = [f"| {one.name} | {one.tries} | {one.run(start)} |" for one in ATTACKS]
    return "\n".join((HEAD, *rows, ""))


HEAD = """# Web attacks on the workbench

Each row was tried on a running workbench; the answer is what it gave. `tests/show/web/test_attacks.py` tries all of
them again and compares. Slow clients and a browser's own view of the policy are tried in
`tests/show/web/test_serving.py` and `tests/browser/test_workbench.py`.

| attack | what is tried | answer |
|---|---|---|"""


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        logs = Path(place) / "logs"
        logs.mkdir()
        with opened_benches(write_logs(logs), Path(place)) as starter:
            Path(sys.argv[1]).write_text(table(starter), encoding="utf-8")
