"""Alembic runs this file for each upgrade, over the connection that the store has open."""

from alembic import context

from adamroute.store.migrate import VERSION_TABLE

context.configure(connection=context.config.attributes["connection"], version_table=VERSION_TABLE)
context.run_migrations()
