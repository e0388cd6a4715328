"""Telling people that they are waited for. Built on signals, as a project's own would be, and off by default."""
