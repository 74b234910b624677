"""The exposure attack: what can be read about people in texts."""
