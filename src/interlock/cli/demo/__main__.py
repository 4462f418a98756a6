"""`python -m interlock.cli.demo`: the demo without the rest of the command line."""

import sys

from interlock.cli.demo.command import demo
from interlock.domain.errors import InterlockError

if __name__ == "__main__":
    try:
        demo()
    except InterlockError as error:
        sys.exit(f"error: {error}")
