"""How much of its users' interests a semantically perturbed log keeps.

Users of such a release have random numbers. Which user a number stands for is in the curator's private folder, so
this measure is for whoever has it beside the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import InputError, argument
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.topics import Topics
from queryveil.measure.measure import LOWER, NEITHER, Measure, Original, Released, Stated
from queryveil.measure.profiles import SUB_TOPICS, TOPICS, Counts, profile_counts, profile_divergences
from queryveil.measure.published import private_table
from queryveil.mechanisms.concept_profiles.domain import SEPARATOR
from queryveil.mechanisms.concept_profiles.phrases import windows


@dataclass(frozen=True, kw_only=True)
class ProfileDivergence(Measure):
    """profile-divergence: mean Jensen-Shannon divergence between users' profiles in the log and in the release.

    A profile is the distribution of a user's phrases over topics of WordNet: disease, scientific discipline, sport
    and social event. A user of whom nothing inside the topics is published has lost all, 1.
    """

    name: ClassVar[str] = "profile-divergence"
    help: ClassVar[str] = "how far users' profiles over four topics are from those in the log, 0 to 1"
    unit: ClassVar[str] = "bits"
    direction: ClassVar[str] = LOWER
    package: ClassVar[str | None] = "textblob"
    parts: ClassVar[dict[str, Stated]] = {
        "sub-topics": Stated("bits", LOWER, "the same over 19 topics below the four"),
        "users": Stated("users", NEITHER, "users who have a profile over the four topics in the log"),
    }

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        """Needs users, concepts of WordNet, and the curator's map of users."""
        table = release.release.tables.get("log")
        if table is None or not {"user", "query"} <= set(table.column_names):
            return (
                "the release has no users with concepts in place of queries",
                "use publish semantic or publish profile-histogram",
            )
        if release.release.plan.taxonomy != Taxonomy.wordnet().identity:
            return (
                "the release's concepts are not from WordNet, but the topics are",
                f"publish without {argument('taxonomy')}, or count topics of your own with qv.profile_counts",
            )
        if _user_map(release) is None:
            return (
                "only the private folder says which user a number stands for, and it is not here",
                "evaluate it where its .private folder is beside it",
            )
        return None

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        taxonomy, known = Taxonomy.wordnet(), _user_map(release)
        if known is None:  # said by `unmet` before
            return {str(self): None}
        topics = {str(self): Topics(taxonomy, TOPICS), f"{self}/sub-topics": Topics(taxonomy, SUB_TOPICS)}
        protected = _published_profiles(
            release, topics, taxonomy, int(pc.max(known["user"]).as_py() or 0) + 1
        )
        found: dict[str, list[np.ndarray]] = {name: [] for name in topics}
        matched = 0
        for names, phrases in windows(original.log, taxonomy):
            places = pc.index_in(names, known["original"].combine_chunks())
            here = places.is_valid().to_numpy(zero_copy_only=False)
            numbers = known["user"].take(places.drop_null()).to_numpy()
            matched += len(numbers)
            for name, chosen in topics.items():
                before = profile_counts(
                    phrases.owners,
                    chosen.topic_of_concept[phrases.concepts],
                    users=phrases.users,
                    number=len(chosen),
                )
                after = np.zeros_like(before)
                after[here] = protected[name][numbers]
                found[name].append(profile_divergences(before, after))
        if not matched:
            raise InputError(
                f"none of the users of '{release.name}' is in the log: it is a release of another log",
                "name the log that it was made from, read with the same options",
            )
        lost = {name: np.concatenate(parts) for name, parts in found.items()}
        counted = {name: values[~np.isnan(values)] for name, values in lost.items()}
        means = {name: float(values.mean()) if len(values) else None for name, values in counted.items()}
        return means | {f"{self}/users": float(len(counted[str(self)]))}


def _user_map(release: Released) -> pa.Table | None:
    """Number in the release -> user, for the curator alone; None if it is not at hand."""
    return private_table(release.release, "user-map", ["user", "original"])


def _published_profiles(
    release: Released, topics: Mapping[str, Topics], taxonomy: Taxonomy, users: int
) -> dict[str, Counts]:
    """Phrases by published user and topic, for each choice of topics."""
    kept_words = release.release.plan.parameters.get("keep_words", "none") != "none"
    table = release.release.tables["log"]
    concepts: dict[str, int] = {}
    counts = {name: np.zeros((users, len(chosen)), dtype=np.int64) for name, chosen in topics.items()}
    for batch in table.select(["user", "query"]).to_batches(max_chunksize=1 << 17):
        labels = pc.split_pattern(batch.column("query"), " " if kept_words else SEPARATOR)
        owners = np.repeat(batch.column("user").to_numpy(), pc.list_value_length(labels).to_numpy())
        coded = pc.list_flatten(labels).dictionary_encode()
        for label in coded.dictionary.to_pylist():
            if label not in concepts:
                node = taxonomy.find_label(label)
                concepts[label] = -1 if node is None else node  # a kept word, that is
        drawn = np.array([concepts[label] for label in coded.dictionary.to_pylist()], dtype=np.int64)
        nodes = drawn[coded.indices.to_numpy()] if len(drawn) else np.empty(0, dtype=np.int64)
        for name, chosen in topics.items():
            found = np.where(nodes >= 0, chosen.topic_of_concept[nodes], -1)
            counts[name] += profile_counts(owners, found, users=users, number=len(chosen))
    return counts
