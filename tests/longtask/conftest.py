from __future__ import annotations

from task_support import databases, task, task_point, task_url

__all__ = ["databases", "task", "task_point", "task_url"]
