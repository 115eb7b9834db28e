"""Contrastive Tension (Carlsson et al. 2021): two encoders, of which the first is scored."""

from core.config.methods import Derived

METHOD = Derived(
    "simcse",
    title="Contrastive Tension",
    changes={"eval.head": "never"},
    unread=("loss.temperature",),
)
