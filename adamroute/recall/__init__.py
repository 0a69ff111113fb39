"""Encoders' seams, the two branch indexes, dual recall, ranks and their replay."""
