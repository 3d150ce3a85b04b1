"""Settings that all tests share."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from rounds import ROUNDS

# Where the package is: this checkout's, or one with an instrumented extension (`.ci/sanitized`).
# Programs that tests start (writers that get killed, Spark's workers) find the same.
PYTHON = Path(os.environ.get("FLINT_PYTHON", Path(__file__).resolve().parents[1] / "python"))
sys.path.insert(0, str(PYTHON))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PYTHON), os.getenv("PYTHONPATH")]))

settings.register_profile("flintstate", deadline=None, max_examples=100 * ROUNDS, print_blob=True)
settings.load_profile("flintstate")


@pytest.fixture
def rounds() -> int:
    """How many times the usual a long test should go round."""
    return ROUNDS
