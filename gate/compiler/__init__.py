"""From governed YAML to Rego that is checked in and reviewed."""

from __future__ import annotations

from gate.compiler.assemble import Assembly, assemble
from gate.compiler.compile import SOURCE_MAP, Compiled, compile_bundle, differences, write
from gate.compiler.literal import CompileError

__all__ = [
    "SOURCE_MAP",
    "Assembly",
    "CompileError",
    "Compiled",
    "assemble",
    "compile_bundle",
    "differences",
    "write",
]
