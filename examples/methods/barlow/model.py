"""Barlow Twins: equations 1 and 2 of Zbontar et al. 2021."""

from core.methods.simcse.model import Views


class Model(Views):
    """Squared distance of the cross-correlation matrix from the identity."""

    capturable = True

    def contrast(self, first, second):
        first, second = ((x - x.mean(0)) / (x.std(0, correction=0) + 1e-5) for x in (first, second))
        squares = (first.T @ second / len(first)).pow(2)  # (dim, dim)
        diagonal = (first * second).mean(0)  # (dim,)
        others = squares.sum() - squares.diagonal().sum()
        return (diagonal - 1).pow(2).sum() + self.config.barlow.redundancy * others
