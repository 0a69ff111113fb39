"""Ablations of the method and its peers in one table: `adamroute ablate CONFIG`."""
