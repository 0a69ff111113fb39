"""Preference profiles and the scorers that order candidates."""
