"""k-session anonymity: sets of keywords that at least k sessions share."""
