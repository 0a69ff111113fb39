"""Public Amazon sets, as a user downloaded them, turned into shop folders.

Nothing is downloaded here except photos, from the addresses in the user's own metadata.
"""
