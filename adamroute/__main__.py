"""`python -m adamroute`: the same as the command `adamroute`."""

from adamroute.cli import main

main()
