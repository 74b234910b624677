"""k-anonymous transactions: Clump, Partition, and what they share."""
