"""Offline: labels for the student, and the reports that hold it against its teacher."""
