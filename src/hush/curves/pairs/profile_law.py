"""The law that many points of a profile allow, for pairs that have no law of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.arrays import Array
from hush.curves.renyi.from_law import law_to_renyi
from hush.numerics.laws.atoms import joined, law_of_atoms, q_masses
from hush.numerics.laws.law import Law


@dataclass(frozen=True, eq=False)
class ProfileLaw:
    """The law of a loss above that of a pair which is known through its profile alone."""

    law: Law | None
    """None where the profile does not fall to 0: the loss is infinite with some probability."""
    largest: float

    @classmethod
    def of(cls, epsilons: Array, deltas: Array) -> ProfileLaw:
        """From upper bounds on delta at these epsilons."""
        losses, mass, top, _ = joined(epsilons, deltas)
        if top > 0:
            return cls(None, math.inf)
        law = law_of_atoms(losses, mass, q_masses(losses, mass), top, None)
        return cls(law, float(losses.max(initial=0.0)))

    def renyi(self, order: float) -> float:
        """An upper bound on the divergence."""
        if self.law is None or order == math.inf:
            return self.largest
        return law_to_renyi(self.law, order, self.largest)[1]
