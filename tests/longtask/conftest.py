from __future__ import annotations

from task_support import task, task_point

__all__ = ["task", "task_point"]
