"""The teacher: its loop, a request's context, policies, neighbours, pseudo-queries."""
