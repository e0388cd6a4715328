"""Runs: the loop driven in memory or in the database, and the decisions that people take about its calls."""
