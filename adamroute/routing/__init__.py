"""The student's seam and its inference, confidence, the fallback rule, policy strings."""
