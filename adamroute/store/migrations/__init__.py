"""Alembic's folder. A new revision goes into versions/, its number into migrate.REVISION."""
