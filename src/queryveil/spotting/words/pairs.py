"""Pairs of a first and a last name that the census rules get wrong. Written for queryveil.

TRUE: both are common English words and common names, and yet people mean a person. FALSE: both are names, and people
mean a brand, a figure of a story, a place or a thing. A true pair may still be somebody else's name.
"""

from __future__ import annotations

from typing import Final


def _listed(text: str) -> frozenset[str]:
    """What stands between commas."""
    return frozenset(" ".join(part.split()) for part in text.split(","))


TRUE: Final = _listed("""
    al gore, al green, angel white, bill gates, bill hunt, bill price, chase young, clay banks, cliff burns, dick grant,
    dick price, earl grant, faith hill, frank black, frank stone, frank waters, grace park, grant hill,
    grant wood, guy pierce, hank green, hope young, ivy green, jack black, jack green, jack hunt, jack ma, jack white,
    jack wood, jack young, lance bass, mark fields, mark foster, mark hunt, mark price, mark stone, mark white,
    mark wood, mark young, may fields, miles long, pat cash, pearl buck, ray banks, ray price, rich little,
    rob hall, rob stone, robin cook, rose hill, rusty stone, sandy hill, sterling brown, victor wood, wade wood,
    orlando bloom, will ferrell, will hunt, will smith, will young
""")

FALSE: Final = _listed("""
    amber alert, angel island, austin healey, barbie doll, bell south, betty boop, betty crocker,
    brooks brothers, calvin klein, carmel valley, charles schwab, charlie brown, cherry hill, china town,
    crystal lake, daisy duke, dallas morning, dean witter, denver post, dolly madison, don juan, donald duck,
    easter island, eddie bauer, edward jones, ethan allen, forrest gump, george foreman, george mason,
    georgia pacific, georgia state, golden state, hannah montana, harley davidson, harry potter, harry winston,
    holly hill, hong kong, irish times, ivy league, jack daniels, jackson hole, james bond, james madison,
    jenny craig, jim beam, john deere, john hancock, johnny walker, jordan river, kate spade, king kong,
    lara croft, levi strauss, lincoln park, liz claiborne, long beach, long island, maria theresa, mary jane,
    mary kay, may day, mercedes benz, merrill lynch, merry christmas, mickey mouse, minnie mouse,
    morgan stanley, murray state, myrtle beach, nancy drew, oliver twist, oscar mayer, paris france,
    paul mitchell, perry mason, peter pan, porter cable, ralph lauren, ray ban, robin hood, romeo juliet,
    rose bowl, rose garden, santa barbara, santa claus, santa cruz, santa maria, santa monica, santa rosa,
    sara lee, savannah state, scarlett ohara, scott foresman, sierra leone, sierra madre, sonny angel,
    sterling silver, summer camp, sunny isles, thomas nelson, tiffany lamp, tom sawyer, tommy hilfiger,
    vera bradley, vera wang, wayne state
""")

GIVEN: Final = _listed("""
    alma, bobby, brad, charlotte, darin, derrick, donna, dustin, eva, harry, hugh, john, ken, lana, louis, lucy,
    maria, matt, max, patsy, peter, sally, william
""")
"""Words that the dictionary has without a capital, and that are given names in a query."""
