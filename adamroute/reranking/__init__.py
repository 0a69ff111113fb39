"""Re-rankers: features of a candidate, relevance grades, the order of candidates."""
