"""The main job, told in a terminal: a question, a model's calls, the gate, a pause, a decision, an answer."""
