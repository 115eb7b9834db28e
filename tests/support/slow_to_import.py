"""A job whose import takes a minute, as that of the training code does on a slow disk."""

import time

time.sleep(60.0)
