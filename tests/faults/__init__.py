"""Runs under fire: real processes, killed with SIGKILL at any moment, and a count of what they left in the world.

``kill`` is the command. It makes a database (``ground``), serves the model and an outside service (``outside``), and
starts a ``nursery`` that forks processes with the roles of ``roles``, kills them and replaces them. What the model
says is in ``plans``, what its calls do in ``shop``; ``census`` counts at the end.
"""
