"""Recorded exchanges with providers: what an adapter reads from them, and what it would send in their place."""
