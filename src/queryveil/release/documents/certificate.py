"""The first screen of the public page, which is the first printed sheet: what a person signs.

How strong the promise is, on a band of four steps; what a suspicion can become, what is published and how to check it;
what is bounded and what is not hidden; what is assumed, to be ticked, with a name and a date.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.display import slopes
from queryveil.display.escaping import escape
from queryveil.privacy import strength
from queryveil.privacy.guarantee import K_ANONYMITY, Guarantee, limit_holds
from queryveil.release.about import stated
from queryveil.release.documents import page, words
from queryveil.release.documents.chances import is_weak

STYLE = """
:root { --strong: #1b6e3c; --moderate: #1f5f8b; --weak: #a34300; --none: #a3142b; --on: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --strong: #7fd8a0; --moderate: #8cc4ec; --weak: #f5a56b; --none: #ff9aa8; --on: #14191f; }
}
.facts { display: flex; flex-wrap: wrap; gap: .3rem 1.8rem; margin: .2rem 0 1rem; }
.facts dt { color: var(--soft); font-size: .8rem; font-weight: 400; margin: 0; } .facts dd { margin: 0; }
.band { list-style: none; display: grid; grid-template-columns: repeat(4, 1fr); grid-gap: .4rem; padding: 0;
  margin: 0 0 1rem; }
.band li { border: 1px solid var(--line); border-top: .45rem solid var(--line); border-radius: .3rem; margin: 0;
  padding: .45rem .6rem .5rem; }
.band b, .band span, .band i { display: block; } .band b { font-size: 1.05rem; }
.band span { color: var(--soft); font-size: .78rem; line-height: 1.35; }
.band .here { border-width: 2px; border-top-width: .45rem; } .band .here b { font-size: 1.35rem; }
.band .here i { font-size: .82rem; font-style: normal; font-weight: 700; margin-bottom: .2rem; }
.band .here span { color: inherit; }
.band .strong { border-top-color: var(--strong); } .band .moderate { border-top-color: var(--moderate); }
.band .weak { border-top-color: var(--weak); } .band .none { border-top-color: var(--none); }
.band .here.strong { background: var(--strong); border-color: var(--strong); color: var(--on); }
.band .here.moderate { background: var(--moderate); border-color: var(--moderate); color: var(--on); }
.band .here.weak { background: var(--weak); border-color: var(--weak); color: var(--on); }
.band .here.none { background: var(--none); border-color: var(--none); color: var(--on); }
.weak svg, .none svg { --first: var(--weak); } .none svg { --first: var(--none); }
.promise { font-size: 1.05rem; margin-bottom: .3rem; }
.three { display: grid; grid-template-columns: repeat(3, 1fr); grid-gap: .4rem 1.2rem; margin: 1rem 0;
  border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); padding: .8rem 0 .5rem; }
.three p { margin: 0; } .three .big { font-size: 1.25rem; font-weight: 700; line-height: 1.3; }
.three .big code { font-size: .68em; font-weight: 400; }
.bounded h3::before { content: "■ "; color: var(--strong); }
.open h3::before { content: "□ "; color: var(--none); }
.ticks { list-style: none; padding: 0; } .ticks li { padding-left: 1.4rem; text-indent: -1.4rem; }
.ticks span { display: inline-block; width: 1.4rem; text-indent: 0; }
.sign { display: grid; grid-template-columns: 2fr 2fr 1fr; grid-gap: 1.5rem; margin: 2.6rem 0 .4rem; }
.sign div { border-top: 1px solid var(--ink); } .sign span { color: var(--soft); font-size: .8rem; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); grid-gap: .8rem;
  margin-bottom: 1rem; }
.answer { background: var(--card); border: 1px solid var(--line); border-top: .35rem solid var(--none);
  border-radius: .3rem; padding: .7rem .9rem .2rem; font-size: .92rem; }
.answer.no { border-top-color: var(--strong); } .answer.limited { border-top-color: var(--weak); }
.answer h3 { margin: 0 0 .2rem; } .answer p { margin-bottom: .5rem; }
.answer .verdict { font-size: 1.15rem; font-weight: 700; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; } summary { cursor: pointer; font-weight: 600; }
details[open] summary { margin-bottom: .8rem; }
@media (max-width: 49rem) { .band { grid-template-columns: repeat(2, 1fr); } }
@media (max-width: 34rem) {
  .three { grid-template-columns: 1fr; } .sign { grid-gap: .8rem; }
}
@media print {
  :root { --strong: #1b6e3c; --moderate: #1f5f8b; --weak: #a34300; --none: #a3142b; --on: #fff; --first: #1f5f8b; }
  @page { size: A4; margin: 13mm 15mm; }
  html { font-size: 8.4pt; } body { line-height: 1.42; }
  h1 { font-size: 1.7rem; margin-bottom: .3rem; } h2 { font-size: 1.25rem; } h3 { margin-top: .6rem; }
  section { margin-top: 1rem; padding-top: .8rem; }
  .band { grid-template-columns: repeat(4, 1fr); margin-bottom: .6rem; }
  .band li.here { background: none; color: var(--ink); border-width: 3px; border-top-width: 1rem; }
  .three { grid-template-columns: repeat(3, 1fr); margin: .6rem 0; padding: .5rem 0 .3rem; }
  .facts { margin-bottom: .7rem; }
  .slopes { margin: .5rem 0; } .slopes svg { max-width: 150mm; margin: 0 auto; }
  .certificate { break-after: page; } #limits { break-before: page; }
  .sign { margin-top: 2.2rem; } .sample td { padding-top: .2rem; padding-bottom: .2rem; }
  .sample bdi { max-height: 2.9em; }
  li { margin-bottom: .15rem; } .answers { grid-template-columns: repeat(3, 1fr); }
  #sample { border-top: 0; margin-top: 0; padding-top: 0; } footer { margin-top: 1rem; padding-top: .5rem; }
}
"""
STEPS = {
    "strong": "An attacker who guesses which of two histories is a person's is right at most 75 times in 100, and a "
    "suspicion of 1 % becomes 5 % at most.",
    "moderate": "Right at most 90 times in 100, and 1 % becomes 20 % at most.",
    "weak": "More than that; or only a crowd, or only a part of a person's searches, is protected.",
    "none": "Nothing is promised, or delta is too large for a promise.",
}
"""How much a release promises, from the most to the least, with the limit of each step."""
_PRIORS = (0.01, 0.1, 0.5)
_SHORT = 12


def strength_of(guarantee: Guarantee) -> str:
    """How much a guarantee promises: `strong`, `moderate`, `weak` or `none`, by limits that the public page states.

    `guarantee`: of a plan, a release, or a whole series.
    """
    if guarantee.kind == K_ANONYMITY:
        return "weak"
    if not guarantee.private or guarantee.exposing or strength.voids(guarantee.between_histories()[1]):
        return "none"
    if guarantee.unit != "user" or is_weak(guarantee):
        return "weak"
    reached = guarantee.guessed_right, guarantee.believed(0.01)
    if strength.within(strength.STRONG, *reached):
        return "strong"
    return "moderate" if strength.within(strength.MODERATE, *reached) else "weak"


def write(manifest: Mapping[str, Any]) -> list[str]:
    """What stands below the title."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    first = words.promises(guarantee)[0]
    return [
        f'<div class="certificate {strength_of(guarantee)}">',
        _facts(manifest),
        _band(guarantee),
        f'<p class="promise">{escape(first)}</p>',
        f'<p class="soft">{escape(guarantee.headline)}.</p>',
        _figures(manifest, guarantee),
        picture("belief", guarantee),
        '<div class="two">',
        f'<div class="bounded"><h3>Bounded</h3>{page.listed(words.withheld(manifest))}</div>',
        f'<div class="open"><h3>Not hidden</h3>{page.listed(words.learnt(manifest))}</div>',
        "</div>",
        _signed(guarantee),
        "</div>",
    ]


def _facts(manifest: Mapping[str, Any]) -> str:
    name, digest = _digest(manifest)
    said = [
        ("Publisher", escape(stated(manifest, "publisher") or "not stated")),
        ("Period", escape(words.period(manifest) or "not stated")),
        ("Licence", escape(stated(manifest, "licence") or "not stated")),
        ("Date", escape(manifest["created"])),
        ("Digest", f"<code>{escape(digest[:_SHORT])}</code> of {escape(name)}"),
    ]
    rows = "".join(f"<div><dt>{label}</dt><dd>{value}</dd></div>" for label, value in said)
    return f'<dl class="facts">{rows}</dl>'


def _digest(manifest: Mapping[str, Any]) -> tuple[str, str]:
    for table in manifest["tables"].values():
        entry = manifest.get("files", {}).get(table["file"])
        if entry:
            return str(table["file"]), str(entry["sha256"])
    return "no table", ""


def _band(guarantee: Guarantee) -> str:
    here = strength_of(guarantee)
    steps = "".join(
        f'<li class="{name}{" here" if name == here else ""}"{" aria-current=true" if name == here else ""}>'
        f"<b>{name.capitalize()}</b>{'<i>this release</i>' if name == here else ''}"
        f"<span>{escape(limit)}</span></li>"
        for name, limit in STEPS.items()
    )
    return f'<h3 class="unseen">How strong the promise is</h3><ol class="band">{steps}</ol>'


def _figures(manifest: Mapping[str, Any], guarantee: Guarantee) -> str:
    shown = [
        (_suspicion(guarantee), "what an attacker's suspicion of 10 % can become"),
        (words.sizes(manifest) or "nothing", "published"),
        ("<code>queryveil release verify DIR</code>", "checks it, without the log"),
    ]
    cells = "".join(
        f"<div><p class=big>{big if big.startswith('<code>') else escape(big)}</p><p>{escape(small)}</p></div>"
        for big, small in shown
    )
    return f'<div class="three">{cells}</div>'


def _suspicion(guarantee: Guarantee) -> str:
    after = guarantee.believed(0.1)
    return f"at most {strength.percent(after)}" if after < 1 else "100 %, certainty"


def picture(name: str, guarantee: Guarantee) -> str:
    """What suspicions of 1, 10 and 50 % can become."""
    rises = [
        slopes.Rise(
            prior,
            min(1.0, guarantee.believed(prior)),
            strength.percent(prior),
            strength.percent(guarantee.believed(prior)),
        )
        for prior in _PRIORS
    ]
    middle = rises[1]
    title = f"A suspicion of {middle.said_before} can become {middle.said_after} by reading this release"
    if guarantee.private and middle.after < 1:
        title = f"A suspicion of {middle.said_before} can rise to {middle.said_after} at most"
    note = limit_holds(guarantee)
    if guarantee.kind == K_ANONYMITY:
        note = (
            "k-anonymity sets no limit: someone who knows enough about the others of a crowd can be certain."
        )
    return slopes.figure(name, title, rises, note=note)


def _signed(guarantee: Guarantee) -> str:
    assumed = [str(one) for one in guarantee.assumptions]
    ticks = "".join(f'<li><span aria-hidden="true">☐</span> {escape(_sentence(one))}</li>' for one in assumed)
    listed = (
        f'<h3>Assumed, to be confirmed by the publisher</h3><ul class="ticks">{ticks}</ul>' if assumed else ""
    )
    lines = "".join(f"<div><span>{name}</span></div>" for name in ("Name", "Role", "Date"))
    return f'{listed}<div class="sign">{lines}</div>'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def cards(answers: Sequence[tuple[str, str]], questions: Mapping[str, str]) -> str:
    """The three questions, each as a card that begins with its verdict."""
    made = []
    for name, answer in answers:
        verdict, _, reason = answer.partition(". ")
        kind = {"No": "no", "Limited": "limited"}.get(verdict, "yes")
        made.append(
            f'<div class="answer {kind}"><h3>{escape(name)}</h3><p class="soft">{escape(questions.get(name, ""))}</p>'
            f'<p class="verdict">{escape(verdict)}.</p><p>{escape(reason)}</p></div>'
        )
    return f'<div class="answers">{"".join(made)}</div>'
