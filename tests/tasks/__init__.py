"""Runs handed to workers: in this process, through the database, and through Celery, with real worker processes.

Also an app, which workers install so that they have the tools of ``tests.practice``.
"""
