"""Offline: labels to a LoRA student, fitting of calibration and reranker, W&B tracking."""
