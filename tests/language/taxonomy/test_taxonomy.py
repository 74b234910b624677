"""Trees from files, their shape against definitions, pruning, and files that are wrong."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.taxonomy import Links

FOOD = """\
# what the paper's examples use
child	parent
fruit	food
meat	food

dairy	food
apple	fruit
orange	fruit
banana	fruit
chicken	meat
beef	meat
milk	dairy
cheese	dairy
butter	dairy
"""


def taxonomy(tmp_path: Path, text: str, name: str = "taxonomy.tsv") -> qv.Taxonomy:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return qv.Taxonomy.from_file(file)


def test_a_file(tmp_path: Path) -> None:
    food = taxonomy(tmp_path, FOOD)
    names = [
        "food",
        "fruit",
        "apple",
        "orange",
        "banana",
        "meat",
        "chicken",
        "beef",
        "dairy",
        "milk",
        "cheese",
        "butter",
    ]
    assert food.labels(range(len(food))) == names
    assert food.parents.tolist() == [-1, 0, 1, 1, 1, 0, 5, 5, 0, 8, 8, 8]
    assert food.depth.tolist() == [1, 2, 3, 3, 3, 2, 3, 3, 2, 3, 3, 3]
    assert food.leaves_below.tolist() == [8, 3, 1, 1, 1, 2, 1, 1, 3, 1, 1, 1]
    assert food.height == 3
    assert food.labels(food.children.targets(0)) == ["fruit", "meat", "dairy"]
    assert food.labels(food.ancestors(food.find_concept("beef"))) == ["beef", "meat", "food"]
    assert food.all_ancestors(7).tolist() == [0, 5, 7]
    assert food.labels(food.below(food.find_concept("meat"))) == ["meat", "chicken", "beef"]
    assert food.node("Oranges") == food.find_label("orange") == food.senses("ORANGE")[0] == 3
    assert food.find_label("Orange") is None and food.node("pizza") is None
    assert food.word(3) == food.label(3) == "orange"
    assert food.nearest_names("chesse") == ["cheese"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "apple\tfruit\nice cream\tdessert\nfruit\tfood\ndessert\tfood\n"),
        ("a.csv", "apple,fruit\n\"ice cream\",dessert\nfruit,food\ndessert,food\n"),
        ("a.txt", "\ufeffChild\tParent\r\nfood\t\r\napple\tfruit\r\nice  cream\tdessert\r\n"
            "fruit\tfood\r\ndessert\tfood"),
        ("a.tsv", "apple\tfruit\napple\tfruit\nice cream\tdessert\nfruit\tfood\ndessert\tfood\n"),
    ],
    ids=["tabs", "commas", "root, header, other line ends", "a line twice"],
)  # fmt: skip
def test_one_tree_in_several_layouts(tmp_path: Path, name: str, text: str) -> None:
    food = taxonomy(tmp_path, text, name)
    assert food.labels(range(len(food))) == ["food", "fruit", "apple", "dessert", "ice cream"]
    assert food.parents.tolist() == [-1, 0, 1, 0, 3]
    assert food.node("ice_creams") == food.node("ice-cream") == 4


def test_names_keep_their_spelling_and_their_quotes(tmp_path: Path) -> None:
    one = taxonomy(tmp_path, '12" Pizza\tFood\nCafé\tFood\nChild\tFood\n')
    assert one.labels(range(4)) == ["Food", '12" Pizza', "Café", "Child"]
    assert one.lookup(['12" pizza', "cafe\u0301", "CAFÉS", "children", "foods"]).tolist() == [1, 2, 2, 3, 0]
    assert taxonomy(tmp_path, '"rice, white",food\n', "a.csv").label(1) == "rice, white"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the taxonomy has no lines"),
        ("# nothing\n\n", "the taxonomy has no lines"),
        ("child\tparent\n", "the taxonomy has no lines"),
        ("apple\n", "line 1 of the taxonomy has 1 fields instead of 2"),
        ("# first\napple\tfruit\nfruit\tfood\tall\n", "line 3 of the taxonomy has 3 fields instead of 2"),
        ("apple\tfruit\n\tfood\n", "line 2 of the taxonomy has no child"),
        ("a\tb\nc\td\n", "the taxonomy has 2 roots: 'b' (line 1), 'd' (line 2)"),
        ("a\t\nb\t\nc\ta\n", "the taxonomy has 2 roots: 'a' (line 1), 'b' (line 2)"),
        ("a\tr\nb\ts\nc\tt\nd\tr\n", "the taxonomy has 3 roots: 'r' (line 1), 's' (line 2), ..."),
        ("r\t\na\tr\nb\tfriut\n", "the parent 'friut' in line 3 of the taxonomy is unknown"),
        ("a\tr\nb\tr\na\tb\n", "'a' has two parents in the taxonomy: 'r' (line 1) and 'b' (line 3)"),
        ("a\tb\nb\tc\nc\ta\n", "the taxonomy has a cycle of 3: 'a' -> 'b' -> 'c' -> 'a'"),
        ("x\tr\nd\ta\na\tb\nb\ta\n", "the taxonomy has a cycle of 2: 'a' -> 'b' -> 'a'"),
        ("r\tr\na\tr\n", "the taxonomy has a cycle of 1: 'r' -> 'r'"),
        ("Ice tea\tr\nice_tea\tr\n", "'Ice tea' (line 1) and 'ice_tea' (line 2) of the taxonomy are the same name"),
        ("a\x07b\tr\nb\ts\n" + "c\tr\n", "the taxonomy has 2 roots: 'r' (line 1), 's' (line 2)"),
        ("a\x07\tr\nr\ta\x07\n", "the taxonomy has a cycle of 2: 'a?' -> 'r' -> 'a?'"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(qv.InputError) as caught:
        taxonomy(tmp_path, text)
    assert caught.value.message == message
    assert caught.value.hint


def test_a_long_cycle_is_cut(tmp_path: Path) -> None:
    text = "".join(f"n{i}\tn{(i + 1) % 5_000}\n" for i in range(5_000))
    with pytest.raises(qv.InputError, match=r"a cycle of 5000: 'n0' -> .* -> 'n9' -> ... -> 'n0'"):
        taxonomy(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match=r"'gone\.tsv' cannot be read .*leave taxonomy out"):
        qv.Taxonomy.from_file(tmp_path / "gone.tsv")
    with pytest.raises(qv.InputError, match="cannot be read"):
        qv.Taxonomy.from_file(tmp_path)
    (tmp_path / "latin.tsv").write_bytes(b"caf\xe9\tfood\n")
    with pytest.raises(qv.InputError, match=r"latin\.tsv is not UTF-8"):
        qv.Taxonomy.from_file(tmp_path / "latin.tsv")


def test_a_deep_tree(tmp_path: Path) -> None:
    chain = taxonomy(tmp_path, "".join(f"n{i + 1}\tn{i}\n" for i in range(1_000)))
    assert chain.height == 1_001 and chain.leaves_below.max() == 1
    assert len(chain.all_ancestors(1_000)) == len(chain.ancestors(1_000)) == 1_001


@st.composite
def edges(draw: st.DrawFn) -> dict[int, int]:
    """A random tree over 0 ... n, as child -> parent."""
    size = draw(st.integers(1, 30))
    return {child: draw(st.integers(0, child - 1)) for child in range(1, size + 1)}


@given(edges(), st.randoms(use_true_random=False), st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_shape_and_pruning_follow_their_definitions(
    tmp_path: Path, tree: dict[int, int], order: Random, data: st.DataObject
) -> None:
    lines = [f"c{child}\tc{parent}" for child, parent in tree.items()]
    order.shuffle(lines)
    made = taxonomy(tmp_path, "\n".join(lines))
    name = made.labels(range(len(made)))
    above = {child: {child, *above_of(tree, child)} for child in range(len(made))}
    number = [int(one[1:]) for one in name]
    for node in range(len(made)):
        below = {other for other in above if number[node] in above[other]}
        assert made.parents[node] < node
        assert {number[a] for a in made.ancestors(node)} == above[number[node]]
        assert sorted(made.ancestors(node).tolist()) == made.all_ancestors(node).tolist()
        assert {number[b] for b in made.below(node)} == below
        assert made.below(node).tolist() == made.below(node, graph=True).tolist()
        assert made.depth[node] == len(above[number[node]])
        assert made.leaves_below[node] == len(below - set(tree.values()))
    kept = data.draw(st.sets(st.integers(0, len(made) - 1)))
    small = made.prune(sorted(kept))
    expected = {0}.union(*(made.ancestors(node).tolist() for node in kept))
    assert small.origin is not None and set(small.origin.tolist()) == expected
    check_pruned(made, small)


def above_of(tree: dict[int, int], child: int) -> set[int]:
    found: set[int] = set()
    while child in tree:
        child = tree[child]
        found.add(child)
    return found


def check_pruned(whole: qv.Taxonomy, small: qv.Taxonomy) -> None:
    """Names, ancestors and numbers of a pruned taxonomy are those of the whole."""
    assert small.origin is not None
    old = small.origin.tolist()
    assert small.labels(range(len(small))) == whole.labels(old)
    assert small.map_concepts(old).tolist() == list(range(len(small)))
    gone = sorted(set(range(len(whole))) - set(old))
    assert set(small.map_concepts(gone).tolist()) <= {-1}
    for node in range(len(small)):
        assert small.labels(small.ancestors(node)) == whole.labels(whole.ancestors(old[node]))
        assert small.find_label(small.label(node)) == node
    assert all(whole.parents[one] < 0 or whole.parents[one] in small.origin for one in old)


def test_pruning_wordnet_keeps_ancestors_and_words() -> None:
    nouns = qv.Taxonomy.wordnet()
    items = nouns.lookup(["dog", "cat", "new york", "carnivore"])
    small = nouns.prune(items)
    check_pruned(nouns, small)
    assert small.node("dogs") == small.map_concepts(items)[0]
    assert small.node("computer") is None and small.node("xqzzt") is None
    assert small.find_label("computer.n.01") is None
    assert small.senses("computer").size == 0
    assert small.leaves_below[0] == 3, "carnivore is above dog, so it is no leaf"
    assert small.nearest_names("computr") == []
    assert "pruned" not in small.identity and small.identity == nouns.identity
    again = small.prune([small.find_concept("cat")])
    check_pruned(nouns, again)


def test_pruning_in_the_graph_keeps_all_paths() -> None:
    nouns = qv.Taxonomy.wordnet()
    dog = nouns.find_concept("dog")
    tree, graph = nouns.prune([dog]), nouns.prune([dog], graph=True)
    assert "domestic_animal.n.01" not in tree.labels(range(len(tree)))
    assert graph.origin is not None and graph.origin.tolist() == nouns.all_ancestors(dog).tolist()
    found = graph.labels(graph.all_ancestors(graph.find_concept("dog")))
    assert found == nouns.labels(nouns.all_ancestors(dog))
    check_pruned(nouns, graph)


def test_pruning_refuses_words_without_concept() -> None:
    nouns = qv.Taxonomy.wordnet()
    for wrong in (-1, len(nouns)):
        with pytest.raises(qv.UsageError, match="must be numbers from 0 to 82114"):
            nouns.prune([0, wrong])
    assert nouns.prune([]).labels([0]) == ["entity.n.01"] and len(nouns.prune([])) == 1


@given(st.integers(1, 12), st.data())
@settings(max_examples=50, deadline=None)
def test_graphs_follow_their_definitions(size: int, data: st.DataObject) -> None:
    """Closure, reach and reversal on random graphs whose links go either way in number, but never round."""
    rank = data.draw(st.permutations(range(size)))
    ups = []
    for node in range(size):
        above = [up for up in range(size) if rank[up] < rank[node]]
        ups.append(sorted(data.draw(st.sets(st.sampled_from(above)))) if above else [])
    links = Links.from_counts(
        np.array([len(up) for up in ups]), np.array([u for up in ups for u in up], dtype=int)
    )

    def reach(node: int) -> set[int]:
        return {node}.union(*(reach(up) for up in ups[node]))

    for node in range(size):
        assert links.closure().targets(node).tolist() == sorted(reach(node))
        assert links.reachable(np.array([node])).tolist() == sorted(reach(node))
        assert links.reverse.targets(node).tolist() == [v for v in range(size) if node in ups[v]]
    kept = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    part = links.restrict(np.array(kept, dtype=np.int32))
    for new, old in enumerate(kept):
        assert [kept[up] for up in part.targets(new)] == [up for up in ups[old] if up in kept]
