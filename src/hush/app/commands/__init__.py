"""One file per command: `add(parser)` adds its options and needs no arithmetic, `run(arguments)` returns its output."""

COMMANDS = {
    "epsilon": "the least epsilon at a delta",
    "delta": "the least delta at an epsilon",
    "tradeoff": "what the best attacker misses at a false positive rate",
    "explain": "theorems, papers, assumptions, and what every method says",
    "statement": "the guarantee in plain words",
    "calibrate": "the noise, rate, steps or any other number that just meets a target",
    "compare": "one training run under every way to draw its batches: Poisson, fixed size, allocation, shuffled",
    "compose": "what every composition theorem says, side by side",
    "iterate": "the last iterate of noisy gradient descent, against releasing all iterates",
    "plan": "expected error with and without a sample, before any data is seen; batch sizes of DP-SGD",
    "release": "one noisy statistic of a file, or a table by group, on all records or on a secret sample",
    "ledger": "a budget book: what was spent of a dataset, what is left, and what every release cost",
    "audit": "evidence against a claim: attacks on scores, on hush itself, and on data made on the spot",
    "app": "a page in the browser: calculator, pictures, planner, budget book, explanations; on this machine alone",
    "chart": "a picture of one or more mechanisms",
    "figures": "the pictures of the documentation",
    "words": "every word that an expression may have",
    "completion": "a script that lets your shell complete commands and options",
}
"""Every command, and what it gives in one line."""
