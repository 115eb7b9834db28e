import errno
import os

import pytest

from core.errors import UserError, refusing


def test_an_error_becomes_a_sentence_with_its_own_words():
    sentence = r"^x cannot be read \(No space left on device\); make space\.$"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with (
        pytest.raises(UserError, match=sentence) as caught,
        refusing("x cannot be read", "make space", OSError),
    ):
        raise full
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(UserError, match=r"^x \(first line\); y\.$"), refusing("x", "y"):
        raise ValueError("first line.\nsecond")
    with pytest.raises(UserError, match=r"^x \(ValueError\); y\.$"), refusing("x", "y"):
        raise ValueError
    with pytest.raises(ValueError), refusing("x", "y", OSError):
        raise ValueError
    with pytest.raises(UserError, match="^mine$"), refusing("x", "y"):
        raise UserError("mine")
