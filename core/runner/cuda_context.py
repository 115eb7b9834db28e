"""Make a CUDA context on the first visible GPU, without torch's seconds: `python cuda_context.py`
prints the number of CUDA's error, 0 if there was none."""

import ctypes


def error() -> int:
    """The number of the error; 0 if the context was made. Also 0 without NVIDIA's driver: training
    says that the driver is missing."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    device = ctypes.c_int()
    context = ctypes.c_void_p()
    return int(
        cuda.cuInit(0)
        or cuda.cuDeviceGet(ctypes.byref(device), 0)
        or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
    )


if __name__ == "__main__":
    print(error())
