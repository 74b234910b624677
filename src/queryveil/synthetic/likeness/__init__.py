"""How like real logs generated ones are: figures of a log, and settings that make a log with the same figures."""

from queryveil.synthetic.likeness.figures import LogStatistics, figures_of
from queryveil.synthetic.likeness.fit import FittedProfile, fit_generator

__all__ = ["FittedProfile", "LogStatistics", "figures_of", "fit_generator"]
