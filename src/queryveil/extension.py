"""Everything that a package needs to extend queryveil: base classes, declarations, drawing, and output.

A plugin imports public names from `queryveil`, and all else from here. Other modules may change in any version.
docs/how-to/write-a-plugin.md has a method, a format, and a measure as examples.
"""

from __future__ import annotations

from queryveil.attack.protocol import (
    CONFIDENCE,
    Attack,
    AttackInput,
    AttackResult,
    Progress,
    Table,
    difference,
)
from queryveil.compiled import compiled, inner, unlocked
from queryveil.count import item_kinds
from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted, number, percent
from queryveil.display.escaping import escape
from queryveil.display.pictures import Picture
from queryveil.errors import (
    CannotBeMet,
    CheckFailed,
    InputError,
    OutputError,
    QueryveilError,
    UsageError,
    argument,
    command,
    instead,
    nearest,
)
from queryveil.files import output
from queryveil.files.appearing import claim_paths
from queryveil.files.new_files import new_files
from queryveil.files.workspace import temporary_folder
from queryveil.measure.measure import Counted, Figure, Measure, OfItems, Original, Released, Stated
from queryveil.mechanisms.base import (
    ROW_LOCAL,
    USER_IS_ACCOUNT,
    Mechanism,
    Plan,
    Run,
    public_parameters,
    warnings_of,
)
from queryveil.mechanisms.selection.count_selection import publish_frequent_items
from queryveil.parameters import (
    METHOD,
    OUTPUT,
    PROMISES,
    READING,
    Declared,
    Parameter,
    param,
    parameters,
    validate,
    value_of,
)
from queryveil.privacy.calibration import decimal, scale_for, smallest_excess
from queryveil.privacy.declarations import (
    OCCURRENCES,
    SESSIONS,
    USERS,
    Column,
    PublishedTable,
    columns,
    noisy_counts,
)
from queryveil.privacy.draws import (
    DISCRETE_LAPLACE,
    EQUAL,
    LOG,
    PUBLISHED,
    ROUNDED_NORMAL,
    SELECTION,
    Draw,
)
from queryveil.privacy.guarantee import (
    ADD_REMOVE,
    APPROXIMATE,
    GAUSSIAN,
    K_ANONYMITY,
    NONE,
    PRIVATE_KINDS,
    PROBABILISTIC,
    PURE,
    REPLACE,
    Guarantee,
)
from queryveil.privacy.noise import Noise
from queryveil.privacy.statements import Statement, say
from queryveil.reading.delimited import extract_fields, has_same_first_lines, resolve_layout
from queryveil.reading.log import SearchLog
from queryveil.reading.model import Extraction, Format, Head, OpenedTable, ReadOptions, Source, Staged
from queryveil.reading.pinning import unchanged_logs
from queryveil.reading.translation import Reject, Skip, extract_translated
from queryveil.reading.validation import validate_sql
from queryveil.verification.outcome import Check, too_small

__all__ = [
    "ADD_REMOVE",
    "APPROXIMATE",
    "CONFIDENCE",
    "DISCRETE_LAPLACE",
    "EQUAL",
    "GAUSSIAN",
    "K_ANONYMITY",
    "LOG",
    "METHOD",
    "NONE",
    "OCCURRENCES",
    "OUTPUT",
    "PRIVATE_KINDS",
    "PROBABILISTIC",
    "PROMISES",
    "PUBLISHED",
    "PURE",
    "READING",
    "REPLACE",
    "ROUNDED_NORMAL",
    "ROW_LOCAL",
    "SELECTION",
    "SESSIONS",
    "USERS",
    "USER_IS_ACCOUNT",
    "Attack",
    "AttackInput",
    "AttackResult",
    "CannotBeMet",
    "Card",
    "CardTable",
    "Check",
    "CheckFailed",
    "Column",
    "Counted",
    "Declared",
    "Draw",
    "Extraction",
    "Figure",
    "Format",
    "Guarantee",
    "Head",
    "InputError",
    "Measure",
    "Mechanism",
    "Noise",
    "OfItems",
    "OpenedTable",
    "Original",
    "OutputError",
    "Parameter",
    "Picture",
    "Plan",
    "Progress",
    "PublishedTable",
    "QueryveilError",
    "ReadOptions",
    "Reject",
    "Released",
    "Run",
    "SearchLog",
    "Skip",
    "Source",
    "Staged",
    "Stated",
    "Statement",
    "Table",
    "UsageError",
    "argument",
    "cards",
    "claim_paths",
    "columns",
    "command",
    "compiled",
    "counted",
    "decimal",
    "difference",
    "escape",
    "extract_fields",
    "extract_translated",
    "has_same_first_lines",
    "inner",
    "instead",
    "item_kinds",
    "nearest",
    "new_files",
    "noisy_counts",
    "number",
    "output",
    "param",
    "parameters",
    "percent",
    "public_parameters",
    "publish_frequent_items",
    "resolve_layout",
    "say",
    "scale_for",
    "smallest_excess",
    "temporary_folder",
    "too_small",
    "unchanged_logs",
    "unlocked",
    "validate",
    "validate_sql",
    "value_of",
    "warnings_of",
]
