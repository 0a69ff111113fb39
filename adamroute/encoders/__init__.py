"""Texts and photos to vectors: encoders, projection head, query adapter."""
