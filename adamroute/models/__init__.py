"""The only room that touches torch and transformers; imported when used, not before."""
