"""A scripted stand-in for a language model, so that the example runs without a key.

It speaks the Chat Completions format over real HTTP on loopback, and follows the table in ``script.py``.
"""

from example_project.practice_model.server import PracticeModel

__all__ = ["PracticeModel"]
