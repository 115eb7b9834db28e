"""Training sentences have to fit into an encoder's positions, repeated tokens included."""

import pytest
import tiny

from core.spec.conditions import check_length
from core.spec.errors import UserError


def test_a_sentence_with_its_repetitions_has_to_fit_into_the_encoder_s_positions():
    config = tiny.config("esimcse", "paper", data__max_length=40)
    assert config.longest == 52
    check_length(config, 52, "cuda")
    with pytest.raises(UserError, match="^data.max_length is 40 and repetition makes it up to 52, but the encoder has only 51 positions; "):
        check_length(config, 51, "cuda")
    check_length(config, 40, "cpu")  # reads only the tokens that are there
    check_length(tiny.config("simcse", "paper", data__max_length=40), 40, "cpu")
    with pytest.raises(UserError, match="^data.max_length is 40 but the encoder has only 39 positions; lower it.$"):
        check_length(tiny.config("simcse", "paper", data__max_length=40), 39, "cpu")
