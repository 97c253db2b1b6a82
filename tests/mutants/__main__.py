"""Print every mutant and what caught it: `make mutants`."""

import sys

from tests.mutants.listed import MUTANTS
from tests.mutants.run import is_caught

survivors = 0
for mutant in MUTANTS:
    caught = is_caught(mutant)
    survivors += not caught
    print(f"{'caught  ' if caught else 'SURVIVES'}  {mutant.name:<52} {mutant.caught_by}", flush=True)
print(f"{len(MUTANTS)} mutants, {survivors} survive")
sys.exit(survivors > 0)
