"""Offline: labelling in bulk, synthetic requests, the teacher-versus-student report."""
