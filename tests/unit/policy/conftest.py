"""Lets the tests here import `policy_examples`, which lies beside the example policies."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "policies"))
