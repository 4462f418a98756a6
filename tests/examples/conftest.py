"""Leaves out examples whose libraries are not installed here: a skipped test is a failure, and these are heavy."""

from importlib.util import find_spec

# pip install -e '.[agentdojo]', then: python -m pytest tests/examples
collect_ignore = [] if find_spec("agentdojo") else ["test_agentdojo.py"]
