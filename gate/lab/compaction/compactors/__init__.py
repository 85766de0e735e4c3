"""Compactors under test: those that come with the gate, and the ways to try one's own."""

from __future__ import annotations

from gate.lab.compaction.compactors.chosen import FORMS, chosen, shipped
from gate.lab.compaction.compactors.harmful import DropRule, InjectConsent, Paraphrase
from gate.lab.compaction.compactors.outside import CallableCompactor, CommandCompactor, HttpCompactor
from gate.lab.compaction.compactors.plain import EvictByNoise, NoCompaction, ParagraphSummary, SlidingWindow, Truncate
from gate.lab.compaction.compactors.recorded import RecordedCompactor, Recorder
from gate.lab.compaction.compactors.typed import Pinned, Structured

__all__ = [
    "FORMS",
    "CallableCompactor",
    "CommandCompactor",
    "DropRule",
    "EvictByNoise",
    "HttpCompactor",
    "InjectConsent",
    "NoCompaction",
    "ParagraphSummary",
    "Paraphrase",
    "Pinned",
    "RecordedCompactor",
    "Recorder",
    "SlidingWindow",
    "Structured",
    "Truncate",
    "chosen",
    "shipped",
]
