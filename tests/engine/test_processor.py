"""A run records the processor that it ran on: what can move a number in 16 bits, and how two processors of one name are told apart."""

import pytest

from core.engine.processor import bf16, multiplies_bf16, multiplies_bf16_fast, processor

CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: {model}
model name\t: AMD EPYC
flags\t\t: fpu avx512f {half}

processor\t: 1
cpu family\t: 7
model\t\t: 7
"""


@pytest.mark.parametrize(
    "model, half, told",
    [
        (17, "avx512_bf16", "AMD EPYC, family 25, model 17, avx512_bf16"),
        (1, "avx512_bf16 amx_bf16 amx_tile", "AMD EPYC, family 25, model 1, avx512_bf16, amx_bf16"),
        (1, "xavx512_bf16", "AMD EPYC, family 25, model 1, no bf16"),
    ],
)
def test_two_processors_of_one_name_are_told_apart(tmp_path, model, half, told):
    source = tmp_path / "cpuinfo"
    source.write_text(CPUINFO.format(model=model, half=half))
    assert processor(source) == told
    assert [name for name in told.split(", ") if name.endswith("_bf16")] == bf16(source)


@pytest.mark.parametrize(
    "vendor, flags, instructions, fast",
    [
        ("GenuineIntel", "avx512f avx512_bf16", True, False),
        ("GenuineIntel", "avx512_bf16 amx_bf16 amx_tile", True, True),
        ("GenuineIntel", "avx2", False, False),
        ("AuthenticAMD", "avx512f avx512_bf16", True, True),
        ("AuthenticAMD", "avx2", False, False),
    ],
)
def test_where_bf16_is_multiplied_faster_than_float32(tmp_path, vendor, flags, instructions, fast):
    source = tmp_path / "cpuinfo"
    source.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n")
    assert multiplies_bf16(source) is instructions and multiplies_bf16_fast(source) is fast


def test_where_nothing_is_known_of_the_processor_torch_multiplies(tmp_path):
    assert multiplies_bf16(tmp_path / "missing") and multiplies_bf16_fast(tmp_path / "missing")
    source = tmp_path / "cpuinfo"
    source.write_text("processor : 0\nFeatures : fp asimd bf16\n")
    assert multiplies_bf16(source) and multiplies_bf16_fast(source)
