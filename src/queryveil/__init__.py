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
    from queryveil.attack import (
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
    from queryveil.attack.inversion import Inversion, Inverted, TokenCounts
    from queryveil.count.item_kinds import KINDS, ItemKind
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
    from queryveil.language.concepts import Mapped, mapping
    from queryveil.language.identifiers import Identifier, find_identifiers, scrub
    from queryveil.language.spotting import Entity, spot
    from queryveil.language.taxonomy import Taxonomy
    from queryveil.measure import MEASURES, Figure, Measure
    from queryveil.measure.document_frequencies import DocumentFrequencies
    from queryveil.measure.evaluation import Evaluation, evaluate, measures
    from queryveil.measure.graph import Graph
    from queryveil.measure.histograms import Histogram
    from queryveil.measure.inspection import Inspection, inspect
    from queryveil.measure.keyword_generation import generate_keywords
    from queryveil.measure.pattern_ranking import rank_pattern
    from queryveil.measure.profiles import profile_counts, profile_divergences, profile_loss
    from queryveil.measure.query_similarity import similar_queries
    from queryveil.measure.query_suggestions import suggestions
    from queryveil.measure.substitutions import query_substitutions
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
    from queryveil.mechanisms.ad_hoc.secret_sharing import QuerySharing, open_shared_queries
    from queryveil.mechanisms.transactions.algorithms import Bags, Tree, ggd, lcg, lm, ncp
    from queryveil.privacy.guarantee import Guarantee
    from queryveil.privacy.noise import Noise
    from queryveil.reading.engine import connect
    from queryveil.reading.log import SearchLog, read
    from queryveil.reading.text import keywords, normalise
    from queryveil.release.ledger.ledger import Ledger
    from queryveil.release.publish import Release, load, publish
    from queryveil.release.understanding import refuse_unless_understood
    from queryveil.show.reports import (
        export_csv,
        keep_attack,
        private_folder,
        write_curator_report,
        write_report,
    )
    from queryveil.study import STUDIES, Comparison, Study, compare, find_study
    from queryveil.synthetic.generator import SETTINGS, LogSettings, generate
    from queryveil.synthetic.synthesis import Synthesized, synthesize
    from queryveil.verification import Verification, verify
    from queryveil.verification.signing import sign

# Where each public name lives; it is imported when first used, so that `queryveil --help` is quick.
_HOME = {
    "read": "reading.log",
    "SearchLog": "reading.log",
    "connect": "reading.engine",
    "normalise": "reading.text",
    "keywords": "reading.text",
    "KINDS": "count.item_kinds",
    "ItemKind": "count.item_kinds",
    "inspect": "measure.inspection",
    "Inspection": "measure.inspection",
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
    "Identifier": "language.identifiers",
    "find_identifiers": "language.identifiers",
    "scrub": "language.identifiers",
    "QuerySharing": "mechanisms.ad_hoc.secret_sharing",
    "open_shared_queries": "mechanisms.ad_hoc.secret_sharing",
    "KKeyword": "mechanisms",
    "TokenHash": "mechanisms",
    "Semantic": "mechanisms",
    "ProfileHistogram": "mechanisms",
    "Guarantee": "privacy.guarantee",
    "Noise": "privacy.noise",
    "publish": "release.publish",
    "refuse_unless_understood": "release.understanding",
    "Release": "release.publish",
    "load": "release.publish",
    "write_report": "show.reports",
    "write_curator_report": "show.reports",
    "keep_attack": "show.reports",
    "private_folder": "show.reports",
    "export_csv": "show.reports",
    "verify": "verification",
    "sign": "verification.signing",
    "Verification": "verification",
    "ATTACKS": "attack",
    "PURPOSES": "advice",
    "Advice": "advice",
    "advise": "advice",
    "find_purpose": "advice",
    "Wanted": "advice",
    "wanted": "advice",
    "Attack": "attack",
    "AttackInput": "attack",
    "AttackResult": "attack",
    "SybilAttack": "attack",
    "ExposureAttack": "attack",
    "HashInversionAttack": "attack",
    "Inversion": "attack.inversion",
    "Inverted": "attack.inversion",
    "TokenCounts": "attack.inversion",
    "spot": "language.spotting",
    "Entity": "language.spotting",
    "ActiveAttack": "attack",
    "HomogeneityAttack": "attack",
    "LinkageAttack": "attack",
    "Graph": "measure.graph",
    "evaluate": "measure.evaluation",
    "Evaluation": "measure.evaluation",
    "measures": "measure.evaluation",
    "MEASURES": "measure",
    "Measure": "measure",
    "Figure": "measure",
    "DocumentFrequencies": "measure.document_frequencies",
    "Histogram": "measure.histograms",
    "query_substitutions": "measure.substitutions",
    "generate_keywords": "measure.keyword_generation",
    "similar_queries": "measure.query_similarity",
    "suggestions": "measure.query_suggestions",
    "rank_pattern": "measure.pattern_ranking",
    "profile_counts": "measure.profiles",
    "profile_divergences": "measure.profiles",
    "profile_loss": "measure.profiles",
    "compare": "study",
    "find_study": "study",
    "Comparison": "study",
    "STUDIES": "study",
    "Study": "study",
    "Ledger": "release.ledger.ledger",
    "Taxonomy": "language.taxonomy",
    "mapping": "language.concepts",
    "Mapped": "language.concepts",
    "Tree": "mechanisms.transactions.algorithms",
    "Bags": "mechanisms.transactions.algorithms",
    "lcg": "mechanisms.transactions.algorithms",
    "lm": "mechanisms.transactions.algorithms",
    "ggd": "mechanisms.transactions.algorithms",
    "ncp": "mechanisms.transactions.algorithms",
    "generate": "synthetic.generator",
    "LogSettings": "synthetic.generator",
    "SETTINGS": "synthetic.generator",
    "synthesize": "synthetic.synthesis",
    "Synthesized": "synthetic.synthesis",
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
