"""What a worker loads as it loads any app's tools."""

from tests.practice import TOOLS

__all__ = ["TOOLS"]
