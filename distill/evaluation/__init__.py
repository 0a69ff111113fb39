"""What measures: one table of results, and the reports made from it."""
