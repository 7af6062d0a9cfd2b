"""`python -m gateway.sample` loads the sample clinic."""

import sys

from gateway.sample.command import main

if __name__ == "__main__":
    sys.exit(main())
