"""A shop whose tools count: each call of a write leaves one mark, in the database or outside."""
