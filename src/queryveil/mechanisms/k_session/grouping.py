"""Groups of sessions with at least k distinct users each, made greedily by how many keywords a group costs.

Sets are integer-coded, one after the other. Candidates for a group come from the lists of sessions that have a
keyword of the seed, shortest sets first and no more than a fixed number per list: no step looks at all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from queryveil.errors import CannotBeMet, CheckFailed, argument
from queryveil.mechanisms.k_session import loops

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]

LEVELS = 20
"""How finely groups are ordered by their cost: those that cost least per keyword are made first."""
CANDIDATES_PER_KEYWORD = 500
"""Sessions that are looked at for one keyword of a seed."""
JOINS = 10
"""How often, on the way through the levels, sessions may join groups that exist."""
EFFORT = 5_000_000
"""Steps that a compiled loop does at a time: Python answers a request to stop only between two calls of it."""


@dataclass(frozen=True, eq=False)
class KeywordSets:
    """Sessions as sets of coded keywords: set s is items[starts[s]:starts[s + 1]], distinct and ascending."""

    starts: Ints
    items: Codes
    users: Codes
    """Whose session it is, as numbers from 0."""
    keywords: int
    """How many codes there are."""

    def __len__(self) -> int:
        return len(self.users)

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    @property
    def sessions(self) -> Ints:
        """The session of each item."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def taken(self, order: Ints) -> KeywordSets:
        """The same sets in another order."""
        sizes = self.sizes[order]
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        places = np.arange(int(starts[-1])) + np.repeat(self.starts[order] - starts[:-1], sizes)
        return KeywordSets(starts, self.items[places], self.users[order], self.keywords)


@dataclass(frozen=True, eq=False)
class Groups:
    """Every session's group, and the set that all sessions of a group are published with."""

    of_session: Codes
    starts: Ints
    items: Codes
    """The set of group g is items[starts[g]:starts[g + 1]]."""
    people: Ints
    """How many users each group has."""
    added: Ints
    """Keywords that each session gained."""
    deleted: Ints
    """Keywords that each session lost."""

    def __len__(self) -> int:
        return len(self.starts) - 1


def group(sets: KeywordSets, k: int, candidates: int = CANDIDATES_PER_KEYWORD) -> Groups:
    """Groups of k to 2k - 1 users, each with the keywords that more than half of its users have.

    A user counts once in a group, however many of her sessions are in it.
    """
    people = np.unique(sets.users).size
    if people < k:
        raise CannotBeMet(
            f"groups of k = {k} users were asked for, but only {people:,} have a session with a keyword",
            f"lower {argument('k')}, or use a longer log",
        )
    reduced = _drop_rare_keywords(sets, k)
    # An order that depends on the sets alone, so that the order in which an engine gave them does not matter.
    digests = _set_digests(reduced)
    order = np.lexsort((reduced.users, digests))
    found = np.empty(len(sets), dtype=np.int32)
    found[order] = _Grouping(reduced.taken(order), digests[order], k, candidates).run()
    return _published_sets(sets, found, k)


def _drop_rare_keywords(sets: KeywordSets, k: int) -> KeywordSets:
    """The sets without keywords that no group can keep, coded anew by how many users have them, rarest first.

    More than half of a group's users are more than k/2, so a keyword of fewer users is lost in any grouping.
    """
    holders = _users_per_keyword(sets)
    order = np.argsort(holders, kind="stable")
    rank = np.empty(sets.keywords, dtype=np.int32)
    rank[order] = np.arange(sets.keywords, dtype=np.int32)
    first = int(np.searchsorted(holders[order], k // 2 + 1))
    codes, sessions = rank[sets.items] - first, sets.sessions
    codes, sessions = codes[codes >= 0], sessions[codes >= 0]
    inside = np.lexsort((codes, sessions))
    return KeywordSets(_group_starts(sessions, len(sets)), codes[inside], sets.users, sets.keywords - first)


def _users_per_keyword(sets: KeywordSets) -> Ints:
    """How many users have each keyword."""
    people = int(sets.users.max()) + 1
    pairs = np.unique(sets.items.astype(np.int64) * people + sets.users[sets.sessions])
    return np.bincount(pairs // people, minlength=sets.keywords)


def _set_digests(sets: KeywordSets) -> npt.NDArray[np.uint64]:
    """A number for each set, the same for equal sets. Unequal ones that share it would only make a dearer group."""
    mixed = (sets.items.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(mixed ^ (mixed >> np.uint64(32)))))
    digests: npt.NDArray[np.uint64] = sums[sets.starts[1:]] - sums[sets.starts[:-1]]
    return digests


def _group_starts(groups: npt.NDArray[np.integer], number: int) -> Ints:
    """Where each group starts among members that stand in the order of their groups."""
    return np.concatenate(([0], np.cumsum(np.bincount(groups, minlength=number)))).astype(np.int64)


class _Grouping:
    """The work on one log: equal sets first, then the cheapest groups, then whatever is left."""

    def __init__(self, sets: KeywordSets, digests: npt.NDArray[np.uint64], k: int, candidates: int) -> None:
        self.sets, self.digests, self.k, self.candidates = sets, digests, k, candidates
        self.coded = loops.Sets(sets.starts, sets.items, sets.users)
        self.group = np.full(len(sets), loops.NO_GROUP, dtype=np.int32)
        self.groups = 0
        self.people = int(sets.users.max()) + 1

    def run(self) -> Codes:
        self._equal_sets()
        self._cheapest_first()
        self._group_leftovers()
        return self.group

    @property
    def open(self) -> Ints:
        """The sessions that have no group yet."""
        return np.flatnonzero(self.group == loops.NO_GROUP)

    def _equal_sets(self) -> None:
        """Sets that k users have in common cost nothing."""
        users = self.sets.users
        new_set = np.append(True, self.digests[1:] != self.digests[:-1])
        new_user = new_set | np.append(True, users[1:] != users[:-1])
        number = np.cumsum(new_set) - 1
        # The users of a set are cut into as many groups as they fill; the last one takes the remainder.
        parts = np.bincount(number[new_user]) // self.k
        # Not those that have nothing left: they can stand in where others need one more user.
        parts[number[self.sets.sizes == 0]] = 0
        place = np.cumsum(new_user)
        place -= place[new_set][number]
        before = np.concatenate(([0], np.cumsum(parts)))
        found = before[number] + np.minimum(place // self.k, parts[number] - 1)
        enough = parts[number] > 0
        self.group[enough] = found[enough]
        self.groups = int(before[-1])

    def _cheapest_first(self) -> None:
        due = np.zeros(len(self.sets), dtype=np.int8)
        at = loops.bench(self.group != loops.NO_GROUP, self.people, self.sets.keywords, self.k)
        lists, patience, rounds = self._build_lists(), self.open.size // 2 + 1, 0
        fillers = self._build_fillers()
        for level in range(1, LEVELS + 1):
            first = 0
            while first < len(self.group):
                before, steps = self.groups, (level, LEVELS, self.candidates, patience, EFFORT)
                first, self.groups, rounds = loops.form(
                    self.coded, self.group, due, lists, fillers, at, first, before, rounds, *steps
                )
                patience -= self.k * (self.groups - before)
                if patience <= 0:  # half of the lists is out of date
                    lists, patience = self._build_lists(), self.open.size // 2 + 1
            if level % (LEVELS // JOINS) == 0 and self.groups:
                joined = self._join_groups(level / LEVELS)
                at.overlap[joined] = loops.TAKEN
                patience -= joined.size

    def _build_lists(self) -> loops.Lists:
        sizes, still = self.sets.sizes, self.open
        order = still[np.argsort(sizes[still], kind="stable")]
        return loops.listed(self.sets.starts, self.sets.items, order, self.sets.keywords)

    def _build_fillers(self) -> loops.Fillers:
        sizes, users, still = self.sets.sizes, self.sets.users, self.open
        by_user = still[np.lexsort((users[still], sizes[still]))]
        new = np.append(True, (np.diff(users[by_user]) != 0) | (np.diff(sizes[by_user]) != 0))[: by_user.size]
        place = np.arange(by_user.size)
        place -= place[new][np.cumsum(new) - 1]
        order = by_user[np.lexsort((users[by_user], place, sizes[by_user]))]
        return loops.Fillers(order.astype(np.int32), np.zeros(1, dtype=np.int64))

    def _join_groups(self, allowed: float) -> Ints:
        """Let sessions join groups that have room, if they lose and gain at most this share of their keywords."""
        starts, kept = majority(self.sets, self.group, self.groups)
        order = np.argsort(np.diff(starts), kind="stable")
        lists = loops.listed(starts, kept, order, self.sets.keywords)
        room = 2 * self.k - 1 - _users_per_group(self.sets.users, self.group, self.groups)
        at = loops.bench(room <= 0, 0, 0, 0)
        joined, first = np.zeros(len(self.group), dtype=bool), 0
        while first < len(self.group):
            first = loops.join(
                self.coded, self.group, lists, room, joined, at, first, allowed, self.candidates, EFFORT
            )
        return np.flatnonzero(joined)

    def _group_leftovers(self) -> None:
        """Sessions that have too little in common with others: groups of their own, or anew with a poor one."""
        left = self.open
        if left.size and np.unique(self.sets.users[left]).size < self.k:
            # Too few users for a group: the group that has least to lose is made anew together with them.
            poorest = int(np.argmin(np.diff(majority(self.sets, self.group, self.groups)[0])))
            left = np.flatnonzero((self.group == loops.NO_GROUP) | (self.group == poorest))
        if left.size:
            self.group[left] = self.groups + dealt(self.sets.users[left], self.k)
            # A group that was made anew has left its number free.
            self.group = np.unique(self.group, return_inverse=True)[1].astype(np.int32)


def dealt(users: Codes, k: int) -> Codes:
    """Groups for sessions of at least k users, like cards: as many as can be filled, k to 2k - 1 users in each.

    With G groups, at most G sessions of a user count. They get consecutive numbers, so that those of one user fall into
    different groups modulo G; there are at least kG of them, so that each group has k users. The most G for which that
    holds leaves no group with 2k.
    """
    held = np.bincount(users)
    fewest, most = 1, len(users) // k
    while fewest < most:
        middle = (fewest + most + 1) // 2
        if int(np.minimum(held, middle).sum()) >= k * middle:
            fewest = middle
        else:
            most = middle - 1
    order = np.argsort(users, kind="stable")
    sorted_users = users[order]
    place = np.arange(len(users)) - np.concatenate(([0], np.cumsum(held)))[sorted_users]
    counts = place < fewest
    groups = place % fewest
    groups[counts] = np.arange(int(counts.sum())) % fewest
    found = np.empty(len(users), dtype=np.int32)
    found[order] = groups
    return found


def majority(sets: KeywordSets, group: Codes, groups: int) -> tuple[Ints, Codes]:
    """The keywords that more than half of the users of each group have."""
    people = _users_per_group(sets.users, group, groups)
    of_item = np.repeat(group, sets.sizes)
    grouped = of_item != loops.NO_GROUP
    keys = of_item[grouped].astype(np.int64) * sets.keywords + sets.items[grouped]
    keys = _distinct_users(keys, np.repeat(sets.users, sets.sizes)[grouped])
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])
    votes = np.diff(np.append(first, keys.size))
    owners = keys[first] // max(1, sets.keywords)
    wins = 2 * votes > people[owners]
    return _group_starts(owners[wins], groups), (keys[first][wins] % max(1, sets.keywords)).astype(np.int32)


def _distinct_users(keys: Ints, users: Codes) -> Ints:
    """Each key as often as it has users, in order."""
    order = np.lexsort((users, keys))
    keys, users = keys[order], users[order]
    new = np.append(True, (keys[1:] != keys[:-1]) | (users[1:] != users[:-1]))[: keys.size]
    found: Ints = keys[new]
    return found


def _users_per_group(users: Codes, group: Codes, groups: int) -> Ints:
    """How many users each group has."""
    grouped = group != loops.NO_GROUP
    return np.bincount(_distinct_users(group[grouped].astype(np.int64), users[grouped]), minlength=groups)


def _published_sets(sets: KeywordSets, group: Codes, k: int) -> Groups:
    """The sets of the groups, and what they cost each session, after counting once more that all have k users."""
    groups = int(group.max()) + 1
    people = _users_per_group(sets.users, group, groups)
    if int(group.min()) < 0 or int(people.min()) < k:
        raise CheckFailed(
            f"a group has fewer than k = {k} users, so nothing is published", "report this as a bug"
        )
    starts, kept = majority(sets, group, groups)
    sizes = np.diff(starts)
    keys = np.repeat(np.arange(groups), sizes) * sets.keywords + kept
    own = np.repeat(group, sets.sizes).astype(np.int64) * sets.keywords + sets.items
    place = np.minimum(np.searchsorted(keys, own), max(0, keys.size - 1))
    hit = keys[place] == own if keys.size else np.zeros(own.size, dtype=bool)
    shared = np.bincount(sets.sessions[hit], minlength=len(sets))
    return Groups(group, starts, kept, people, sizes[group] - shared, sets.sizes - shared)
