"""Django's Tasks framework, wherever it lives: in Django from 6.0 on, in the backport ``django-tasks`` before that.

No other module imports either of them. The backport need not be among INSTALLED_APPS: its app only adds a system check.
"""

from typing import TYPE_CHECKING

import django

if TYPE_CHECKING or django.VERSION >= (6, 0):
    from django.tasks import Task, task, task_backends
    from django.tasks.backends.immediate import ImmediateBackend
else:
    from django_tasks import task, task_backends
    from django_tasks.backends.immediate import ImmediateBackend
    from django_tasks.base import Task

__all__ = ["ImmediateBackend", "Task", "task", "task_backends"]
