"""Which processor this is, as far as it can move a number: make, family and model, and how it
multiplies in 16 bits. No torch, since plans read it."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
BF16 = ("avx512_bf16", "amx_bf16", "bf16")  # Linux's names of bf16 instructions


def processor() -> str:
    """Name, family and model, and the instructions for bf16; without Linux's list, what Python
    knows.

    A virtual machine may move between processors of one name, which differ in family and model.
    """
    about = cpu_fields()
    name = about.get("model name") or platform.processor() or platform.machine()
    parts = [name]
    for field in ("cpu family", "model"):
        if field in about:
            parts.append(f"{field.split()[-1]} {about[field]}")
    return ", ".join(parts + (bf16() or ["no bf16"]))


def bf16() -> list[str]:
    """The instructions for bf16 that the processor has; without them software multiplies."""
    about = cpu_fields()
    if not about:
        return ["bf16 not known"]
    flags = (about.get("flags") or about.get("Features") or "").split()
    return [name for name in BF16 if name in flags]


def multiplies_bf16_fast() -> bool:
    """Whether it multiplies large matrices in bf16 faster than in float32, or Linux's list is
    missing.

    Intel's AVX-512 instruction does half as many products a second as those for float32 do (82 and
    150 GFLOP/s a core, family 6, model 207). Its AMX, AMD's and Arm's instructions do more (Arm's
    by assumption).
    """
    instructions = bf16()
    if cpu_fields().get("vendor_id") == "GenuineIntel":
        return "amx_bf16" in instructions
    return bool(instructions)


def cpu_fields() -> dict[str, str]:
    """Linux's description of the first processor, by field; empty elsewhere."""
    if not CPUINFO.is_file():
        return {}
    first = CPUINFO.read_text(errors="replace").split("\n\n", 1)[0]
    fields = {}
    for line in first.splitlines():
        name, _, value = line.partition(":")
        if value.strip():
            fields[name.strip()] = value.strip()
    return fields
