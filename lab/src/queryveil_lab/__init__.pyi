"""The public names of queryveil-lab: this is the one list of them."""

from queryveil_lab.audits.audit import Audit as Audit
from queryveil_lab.audits.audit import audit as audit
from queryveil_lab.audits.table import AuditTable as AuditTable
from queryveil_lab.audits.table import audit_all as audit_all
from queryveil_lab.audits.trials import AuditFinding as AuditFinding
from queryveil_lab.inversion import Inversion as Inversion
from queryveil_lab.inversion import Inverted as Inverted
from queryveil_lab.inversion import TokenCounts as TokenCounts
from queryveil_lab.inversion.hash_inversion import HashInversionAttack as HashInversionAttack
from queryveil_lab.relinking.relinking import RelinkingAttack as RelinkingAttack
from queryveil_lab.studies import STUDIES as STUDIES
from queryveil_lab.studies import Comparison as Comparison
from queryveil_lab.studies import Study as Study
from queryveil_lab.studies import compare as compare
from queryveil_lab.studies import find_study as find_study

__all__: list[str]
