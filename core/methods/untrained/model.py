"""The encoder without training, scored as SimCSE is."""

from core.methods.simcse.model import Model

__all__ = ["Model"]
