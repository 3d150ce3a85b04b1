"""Settings that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Programs that tests start (writers that get killed, Spark's workers) find this checkout too.
PYTHON = Path(__file__).resolve().parents[1] / "python"
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PYTHON), os.getenv("PYTHONPATH")]))

# `make soak` sets this: how many times the usual the long matrices are run.
ROUNDS = int(os.environ.get("FLINT_ROUNDS", "1"))

settings.register_profile("flintstate", deadline=None, max_examples=100 * ROUNDS, print_blob=True)
settings.load_profile("flintstate")


@pytest.fixture
def rounds() -> int:
    """How many times the usual a long test should go round."""
    return ROUNDS
