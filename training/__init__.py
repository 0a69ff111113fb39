"""Offline: labels to a LoRA student, fitting of calibration and scorer, W&B tracking."""
