"""Users by run, and the thetas of each round. Adopts the one table that files had before."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BEFORE = (
    "user_id",
    "lends",
    "preference",
    "e_pref",
    "history",
    "alpha",
    "budget",
    "round",
    "updated",
)


def upgrade() -> None:
    op.create_table(
        "profile_runs",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("first", sa.String, nullable=False),
    )
    op.create_table(
        "profile_users",
        sa.Column(
            "run",
            sa.String,
            sa.ForeignKey("profile_runs.run", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("user_id", sa.String, primary_key=True),
        sa.Column("lends", sa.Boolean, nullable=False),
        sa.Column("preference", sa.Text, nullable=False),
        sa.Column("e_pref", sa.LargeBinary, nullable=False),
        sa.Column("history", sa.JSON, nullable=False),
        sa.Column("alpha", sa.Float, nullable=False),
        sa.Column("budget", sa.Integer, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("updated", sa.Float, nullable=False),
    )
    op.create_table(
        "profile_thetas",
        sa.Column("run", sa.String, primary_key=True),
        sa.Column("user_id", sa.String, primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("alpha", sa.Float, nullable=False),
        sa.Column("budget", sa.Integer, nullable=False),
        sa.Column("written_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["run", "user_id"], ["profile_users.run", "profile_users.user_id"], ondelete="CASCADE"
        ),
    )
    _adopt()


def _adopt() -> None:
    """Files of before had exactly this table. Another's `users` is left alone."""
    connection = op.get_bind()
    tables = sa.inspect(connection)
    if not tables.has_table("users"):
        return
    if tuple(column["name"] for column in tables.get_columns("users")) != BEFORE:
        return
    names = ", ".join(BEFORE)
    op.execute("INSERT INTO profile_runs (run, first) VALUES ('labels', 'unknown')")
    op.execute(f"INSERT INTO profile_users (run, {names}) SELECT 'labels', {names} FROM users")
    op.drop_table("users")
