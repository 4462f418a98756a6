"""Runs: what each knew, proposed, was told and did."""
