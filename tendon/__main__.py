"""`python -m tendon` is the `tendon` command."""

import sys

from tendon.cli import main

if __name__ == "__main__":
    sys.exit(main())
