"""What rounding costs: the unit in which it is charged, and where floats end.

Every elementary operation is off by at most half a unit of its result, and the functions of numpy and scipy that are
used here by at most two. Error terms count operations in units, each of them as a whole one: `8 * UNIT * size` stands
for up to eight operations on numbers of that size, or for fewer with room to spare. How far this rests on practice is
said at the end of docs/theory/error-budget.md.
"""

from __future__ import annotations

import numpy as np

UNIT = float(np.finfo(float).eps)
"""2^-52: the distance of 1 to the next float, twice the largest relative rounding error."""
LARGEST_EXPONENT = 700.0
"""e^700 is a float, with room for a factor of e^9 (the last is e^709.7); e^-700 is one with all its digits."""
