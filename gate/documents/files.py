"""Reading governed documents from a folder: regular files only, never what a link points to.

It must not interpret the content; what cannot be read becomes a problem, not an exception of the system.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gate.documents.document import Document
from gate.documents.yaml_source import load
from gate.documents.yaml_text import MAX_YAML_BYTES
from gate.errors import BundleError, Problem

# O_NONBLOCK: a named pipe must not hang the reader. Neither flag exists on every system.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def entries(folder: Path, *, code: str) -> list[str]:
    """Names of everything in `folder`, sorted. Raises `BundleError` with `code` when it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError as exc:
        raise _unusable(folder, code, "there is no such folder") from exc
    except NotADirectoryError as exc:
        raise _unusable(folder, code, "this is not a folder") from exc
    except (OSError, ValueError) as exc:
        raise _unusable(folder, code, "the folder cannot be read") from exc


def read_document(path: Path) -> Document:
    """The governed document at `path`, filed under the path as given.

    Raises `BundleError`: `document_not_regular` for a link, a folder, a pipe or a device, or
    `document_unreadable` when the system refuses, else what strict YAML says.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise _unusable(path, "document_not_regular", "this is not a regular file")
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as source:
            # Asked again: the file may have been exchanged in between.
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _unusable(path, "document_not_regular", "this is not a regular file")
            content = source.read(MAX_YAML_BYTES + 1)
    except (OSError, ValueError) as exc:
        raise _unusable(path, "document_unreadable", "the file cannot be read") from exc
    return load(content, file=str(path))


def _unusable(path: Path, code: str, message: str) -> BundleError:
    return BundleError([Problem(str(path), 1, 1, code, message)])
