"""The harness: what is trained, judged and drawn."""

import time

BEGAN = time.time()  # when this process began to load the code, in seconds as files have them
