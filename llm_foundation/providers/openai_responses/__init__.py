"""OpenAI Responses, and those who speak it."""
