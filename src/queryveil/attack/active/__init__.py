"""The active attack: fake accounts, tried on every method."""
