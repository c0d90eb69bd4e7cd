"""python -m compaug: the same as `compaug`."""

from compaug.cli import main

main()
