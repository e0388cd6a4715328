"""A real language model, very small, served on this machine without a key. See ``README.md`` here."""
