"""How like real logs generated ones are: figures of a log, and settings that make a log with the same figures."""

from queryveil.synthetic.likeness.figures import LogFigures, figures_of
from queryveil.synthetic.likeness.fit import Likeness, like

__all__ = ["Likeness", "LogFigures", "figures_of", "like"]
