"""queryveil publishes search logs without exposing the people in them.

The names below follow the data: read a log, look at its risk, plan a release, publish it, check it.

    import queryveil as qv

    log = qv.read("log.tsv.gz")                                  # read
    qv.inspect(log).uniqueness                                   # see the risk
    method = qv.Zealous(epsilon=1, delta=1e-6, max_items=1)      # bound, count, protect
    method.plan(users=100_000).guarantee                         # known before any data is read
    release = qv.publish(log, method, items="queries")           # release
    release.guarantee, release.tables["items"], release.save("out/")
    qv.verify("out/").passed                                     # judge
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from queryveil.advice import PURPOSES, Advice, Wanted, advise, find_purpose, wanted
    from queryveil.attacks import (
        ATTACKS,
        ActiveAttack,
        Attack,
        AttackInput,
        AttackResult,
        ExposureAttack,
        HashInversionAttack,
        HomogeneityAttack,
        LinkageAttack,
        SybilAttack,
    )
    from queryveil.engine import connect
    from queryveil.errors import (
        BudgetError,
        CannotBeMet,
        CannotCompose,
        CheckFailed,
        InputError,
        OutputError,
        QueryveilError,
        UsageError,
    )
    from queryveil.generator import SETTINGS, LogSettings, generate
    from queryveil.graph import Graph
    from queryveil.guarantee import Guarantee
    from queryveil.identifiers import Identifier, find_identifiers, scrub
    from queryveil.inspection import Inspection, inspect
    from queryveil.inversion import Inversion, Inverted, TokenCounts
    from queryveil.items import KINDS, ItemKind
    from queryveil.language import Mapped, mapping
    from queryveil.ledger import Ledger
    from queryveil.log import SearchLog, read
    from queryveil.mechanisms import (
        MECHANISMS,
        AdHoc,
        ClickGraph,
        Clump,
        KKeyword,
        KQuery,
        KSession,
        Mechanism,
        Partition,
        Plan,
        ProfileHistogram,
        Semantic,
        TokenHash,
        Zealous,
    )
    from queryveil.noise import Noise
    from queryveil.release import Release, load, publish
    from queryveil.reporting import (
        export_csv,
        keep_attack,
        private_folder,
        write_curator_report,
        write_report,
    )
    from queryveil.secret_sharing import QuerySharing, open_shared_queries
    from queryveil.signing import sign
    from queryveil.spotting import Entity, spot
    from queryveil.studies import STUDIES, Comparison, Study, compare, find_study
    from queryveil.synthesis import Synthesized, synthesize
    from queryveil.taxonomy import Taxonomy
    from queryveil.text import keywords, normalise
    from queryveil.transactions import Bags, Tree, ggd, lcg, lm, ncp
    from queryveil.understanding import refuse_unless_understood
    from queryveil.utility import MEASURES, Figure, Measure
    from queryveil.utility.document_frequencies import DocumentFrequencies
    from queryveil.utility.evaluation import Evaluation, evaluate, measures
    from queryveil.utility.histograms import Histogram
    from queryveil.utility.keyword_generation import generate_keywords
    from queryveil.utility.pattern_ranking import rank_pattern
    from queryveil.utility.profiles import profile_counts, profile_divergences, profile_loss
    from queryveil.utility.query_similarity import similar_queries
    from queryveil.utility.query_suggestions import suggestions
    from queryveil.utility.substitutions import query_substitutions
    from queryveil.verification import Verification, verify

# Where each public name lives; it is imported when first used, so that `queryveil --help` is quick.
_HOME = {
    "read": "log",
    "SearchLog": "log",
    "connect": "engine",
    "normalise": "text",
    "keywords": "text",
    "KINDS": "items",
    "ItemKind": "items",
    "inspect": "inspection",
    "Inspection": "inspection",
    "MECHANISMS": "mechanisms",
    "Mechanism": "mechanisms",
    "Plan": "mechanisms",
    "Zealous": "mechanisms",
    "ClickGraph": "mechanisms",
    "Clump": "mechanisms",
    "Partition": "mechanisms",
    "KQuery": "mechanisms",
    "KSession": "mechanisms",
    "AdHoc": "mechanisms",
    "Identifier": "identifiers",
    "find_identifiers": "identifiers",
    "scrub": "identifiers",
    "QuerySharing": "secret_sharing",
    "open_shared_queries": "secret_sharing",
    "KKeyword": "mechanisms",
    "TokenHash": "mechanisms",
    "Semantic": "mechanisms",
    "ProfileHistogram": "mechanisms",
    "Guarantee": "guarantee",
    "Noise": "noise",
    "publish": "release",
    "refuse_unless_understood": "understanding",
    "Release": "release",
    "load": "release",
    "write_report": "reporting",
    "write_curator_report": "reporting",
    "keep_attack": "reporting",
    "private_folder": "reporting",
    "export_csv": "reporting",
    "verify": "verification",
    "sign": "signing",
    "Verification": "verification",
    "ATTACKS": "attacks",
    "PURPOSES": "advice",
    "Advice": "advice",
    "advise": "advice",
    "find_purpose": "advice",
    "Wanted": "advice",
    "wanted": "advice",
    "Attack": "attacks",
    "AttackInput": "attacks",
    "AttackResult": "attacks",
    "SybilAttack": "attacks",
    "ExposureAttack": "attacks",
    "HashInversionAttack": "attacks",
    "Inversion": "inversion",
    "Inverted": "inversion",
    "TokenCounts": "inversion",
    "spot": "spotting",
    "Entity": "spotting",
    "ActiveAttack": "attacks",
    "HomogeneityAttack": "attacks",
    "LinkageAttack": "attacks",
    "Graph": "graph",
    "evaluate": "utility.evaluation",
    "Evaluation": "utility.evaluation",
    "measures": "utility.evaluation",
    "MEASURES": "utility",
    "Measure": "utility",
    "Figure": "utility",
    "DocumentFrequencies": "utility.document_frequencies",
    "Histogram": "utility.histograms",
    "query_substitutions": "utility.substitutions",
    "generate_keywords": "utility.keyword_generation",
    "similar_queries": "utility.query_similarity",
    "suggestions": "utility.query_suggestions",
    "rank_pattern": "utility.pattern_ranking",
    "profile_counts": "utility.profiles",
    "profile_divergences": "utility.profiles",
    "profile_loss": "utility.profiles",
    "compare": "studies",
    "find_study": "studies",
    "Comparison": "studies",
    "STUDIES": "studies",
    "Study": "studies",
    "Ledger": "ledger",
    "Taxonomy": "taxonomy",
    "mapping": "language",
    "Mapped": "language",
    "Tree": "transactions",
    "Bags": "transactions",
    "lcg": "transactions",
    "lm": "transactions",
    "ggd": "transactions",
    "ncp": "transactions",
    "generate": "generator",
    "LogSettings": "generator",
    "SETTINGS": "generator",
    "synthesize": "synthesis",
    "Synthesized": "synthesis",
    "QueryveilError": "errors",
    "UsageError": "errors",
    "InputError": "errors",
    "BudgetError": "errors",
    "CannotBeMet": "errors",
    "CannotCompose": "errors",
    "CheckFailed": "errors",
    "OutputError": "errors",
}

__all__ = [
    "ATTACKS",
    "KINDS",
    "MEASURES",
    "MECHANISMS",
    "PURPOSES",
    "SETTINGS",
    "STUDIES",
    "ActiveAttack",
    "AdHoc",
    "Advice",
    "Attack",
    "AttackInput",
    "AttackResult",
    "Bags",
    "BudgetError",
    "CannotBeMet",
    "CannotCompose",
    "CheckFailed",
    "ClickGraph",
    "Clump",
    "Comparison",
    "DocumentFrequencies",
    "Entity",
    "Evaluation",
    "ExposureAttack",
    "Figure",
    "Graph",
    "Guarantee",
    "HashInversionAttack",
    "Histogram",
    "HomogeneityAttack",
    "Identifier",
    "InputError",
    "Inspection",
    "Inversion",
    "Inverted",
    "ItemKind",
    "KKeyword",
    "KQuery",
    "KSession",
    "Ledger",
    "LinkageAttack",
    "LogSettings",
    "Mapped",
    "Measure",
    "Mechanism",
    "Noise",
    "OutputError",
    "Partition",
    "Plan",
    "ProfileHistogram",
    "QuerySharing",
    "QueryveilError",
    "Release",
    "SearchLog",
    "Semantic",
    "Study",
    "SybilAttack",
    "Synthesized",
    "Taxonomy",
    "TokenCounts",
    "TokenHash",
    "Tree",
    "UsageError",
    "Verification",
    "Wanted",
    "Zealous",
    "advise",
    "compare",
    "connect",
    "evaluate",
    "export_csv",
    "find_identifiers",
    "find_purpose",
    "find_study",
    "generate",
    "generate_keywords",
    "ggd",
    "inspect",
    "keep_attack",
    "keywords",
    "lcg",
    "lm",
    "load",
    "mapping",
    "measures",
    "ncp",
    "normalise",
    "open_shared_queries",
    "private_folder",
    "profile_counts",
    "profile_divergences",
    "profile_loss",
    "publish",
    "query_substitutions",
    "rank_pattern",
    "read",
    "refuse_unless_understood",
    "scrub",
    "sign",
    "similar_queries",
    "spot",
    "suggestions",
    "synthesize",
    "verify",
    "wanted",
    "write_curator_report",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'queryveil' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f"queryveil.{_HOME[name]}"), name)
    # Some modules are named like what they hold (normalise, verify, generate): the public name wins.
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
