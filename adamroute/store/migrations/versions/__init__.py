"""One file a revision, each made from the one before."""
