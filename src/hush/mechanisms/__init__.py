"""What ran: immutable expressions that show a dominating pair, or a Rényi curve."""

# The verbs of a mechanism make these: loading them here gives every mechanism its verbs.
from hush.mechanisms.combinators.best_of import BestOf
from hush.mechanisms.combinators.group import Group, Under
from hush.mechanisms.combinators.one_after_another import Repeat, Sequence
from hush.mechanisms.combinators.side_by_side import Parallel

__all__ = ["BestOf", "Group", "Parallel", "Repeat", "Sequence", "Under"]
