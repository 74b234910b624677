"""Synthetic search logs drawn from a released click graph: any size, streaming, the same rows for the same seed.

They hold only queries, urls and transitions of the release, and are made from nothing else: processing a
release costs no privacy, so the randomness here needs no secrecy and takes a seed.
"""

from queryveil.synthetic.synthesis.write import Synthesized, synthesize

__all__ = ["Synthesized", "synthesize"]
