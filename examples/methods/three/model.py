"""The mean of SimCSE's loss over the three pairs of three views."""

from itertools import combinations

from core.methods.losses import info_nce
from core.methods.simcse.model import Views


class Model(Views):
    """Each view is compared with each other."""

    capturable = True

    @staticmethod
    def views(tokens, draw):
        share = draw.config.three.left_out
        words = [word for word in draw.words if draw.rng.random() >= share]
        return tokens, tokens, draw.tokens(words or draw.words)

    def contrast(self, *pooled):
        temperature = self.config.loss.temperature
        pairs = list(combinations(pooled, 2))
        return sum(info_nce(a, b, None, temperature=temperature) for a, b in pairs) / len(pairs)
