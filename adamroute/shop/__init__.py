"""What a shop is: catalogue, users' histories and queries, read from a shop folder."""
