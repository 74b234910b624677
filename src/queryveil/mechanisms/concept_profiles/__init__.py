"""What methods share that draw taxonomy concepts in place of a user's own: phrases, domains, draws, and rows."""
