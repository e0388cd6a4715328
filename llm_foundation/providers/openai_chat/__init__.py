"""OpenAI Chat Completions, and the many who speak it."""
