"""Branch indexes, dual retrieval, exact ranks and their replay."""
