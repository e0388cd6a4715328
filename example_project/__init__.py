"""The support desk of a small shop, run with django-llm-foundation: what the demo shows."""
