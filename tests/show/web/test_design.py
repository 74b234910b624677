"""Design: fields follow from declarations, words and previews from the setting, and looking has a price."""

from __future__ import annotations

import re

import queryveil as qv
from tests.show.web.conftest import Starter, Visitor


def confirmed(visitor: Visitor, name: str = "log.tsv") -> str:
    """The id of a log whose columns were confirmed."""
    found = re.search(rf'href="/log/(\w+)"><b>{re.escape(name)}', visitor.look("/log").text)
    visitor.waited(f"/log/{found[1]}")
    visitor.submit(f"/log/{found[1]}/confirm")
    return found[1]


def test_every_method_has_a_page_with_its_own_fields(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    for name in qv.MECHANISMS:
        answer = visitor.look(f"/design/{log}?method={name}")
        assert answer.status_code == 200, name
        assert f'<option value="{name}" selected' in answer.text
        assert 'class="wrong" data-plain' not in answer.text, name
    assert 'name="public"' not in answer.text, "a file of this machine must not be named from a page"


def test_a_wrong_number_is_a_sentence_and_not_a_failure(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    for typed in (
        "epsilon=-1&delta=1e-6",
        "epsilon=abc&delta=1e-6",
        "epsilon=1&delta=2",
        "epsilon=nan&delta=0.1",
    ):
        found = visitor.get(f"/design/{log}/preview?method=zealous&{typed}").json()
        assert found["words"]["error"] and found["words"]["hint"], typed
        assert found["figures"] is None


def test_previews_follow_the_setting_and_looking_has_a_price(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    assert "Prepare previews" in visitor.look(f"/design/{log}").text
    visitor.submit(f"/design/{log}/pilot")
    visitor.waited(f"/design/{log}")
    asked = f"/design/{log}/preview?method=zealous&delta=1e-4"
    weak, strong = (visitor.get(f"{asked}&epsilon={one}").json() for one in (8, 0.2))
    assert weak["figures"]["published"] > strong["figures"]["published"]
    assert weak["words"]["plain"] != strong["words"]["plain"]
    assert "--epsilon 0.2" in strong["command"] and "epsilon=0.2" in strong["python"]
    assert "3 settings" in strong["price"], "the page itself and two previews"
    again = visitor.get(f"{asked}&epsilon=8").json()
    assert again["figures"] == weak["figures"] and again["price"] == strong["price"]
    curve = visitor.get(f"/design/{log}/curve?method=zealous&epsilon=8&delta=1e-4").json()
    assert len(curve["rows"]) == 7
    made = [
        visitor.submit(f"/design/{log}/keep", {"method": "zealous", "epsilon": n, "delta": 1e-4})
        for n in (1, 2, 4, 8)
    ]
    assert all(one.status_code == 200 for one in made)
    fifth = visitor.submit(f"/design/{log}/keep", {"method": "zealous", "epsilon": 9, "delta": 1e-4})
    assert fifth.status_code == 400 and "Drop one" in fifth.text
    visitor.submit(f"/design/{log}/drop", {"at": "0"})
    assert (
        visitor.submit(f"/design/{log}/keep", {"method": "zealous", "epsilon": 9, "delta": 1e-4}).status_code
        == 200
    )
