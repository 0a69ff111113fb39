"""The teacher's own report: what it recalls, what its evidence is worth, and what it lacked."""
