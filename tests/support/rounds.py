"""How many times the usual long tests go round: `make soak` sets it."""

import os

ROUNDS = int(os.environ.get("FLINT_ROUNDS", "1"))
