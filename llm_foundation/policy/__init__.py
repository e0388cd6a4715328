"""Whether a tool may be offered, called or resumed, and why not: facts are loaded, then judged by a pure function."""
