"""Lists that were written for queryveil, under its own licence (Apache-2.0): pairs of names, companies, terms."""
