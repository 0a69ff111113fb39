"""Theta, its bins and utilities, the teacher's loop, the student's inference, confidence."""
