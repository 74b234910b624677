"""Semantic perturbation: concepts replaced by near ones at random."""
