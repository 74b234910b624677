"""The studies by name. A new one is a module here: one line, at the place where `compare --list` shows it."""

from __future__ import annotations

from types import ModuleType

from queryveil_lab.studies.declaration import Study

# isort: off
from queryveil_lab.studies import (  # noqa: F401 - found below
    zealous_items,
    zealous_counts,
    zealous_uses,
    release_probability,
    released_share,
    query_groups,
    keyword_generation,
    common_fears,
    graph_uses,
    popularity,
    synthetic_uses,
    set_union,
    clump,
    clump_inputs,
    profiles,
    active_attack,
    hash_inversion,
    expansion,
    gap,
    exposure,
)
# isort: on

STUDIES: dict[str, Study] = {
    study.name: study
    for module in list(globals().values())
    if isinstance(module, ModuleType)
    for study in vars(module).values()
    if isinstance(study, Study)
}
