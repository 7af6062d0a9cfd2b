"""A privacy-preserving query gateway: ordinary SQL in, differentially private aggregates out."""

import os

# Linear algebra here is of small matrices, in many threads that are there already: threads of its own would wait for
# each other longer than they work. It reads this when it is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"
