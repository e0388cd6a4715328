"""Gemini's generateContent, by API key or Vertex express key."""
