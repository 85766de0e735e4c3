"""Adapters: one file a framework, each translating its hook into one call of the gate; nothing here decides."""

from __future__ import annotations
