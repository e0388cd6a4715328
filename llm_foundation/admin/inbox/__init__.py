"""The inbox: what waits for a person, whose it is, and how much of it there is."""
