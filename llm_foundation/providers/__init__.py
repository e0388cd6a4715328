"""Wire formats: build a request, read an answer, decode a stream. No Django, no I/O."""
