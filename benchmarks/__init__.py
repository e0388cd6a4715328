"""Measurements as ratios, each beside its peers in one process run. Never a test: a machine's speed proves nothing."""
