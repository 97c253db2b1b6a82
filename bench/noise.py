"""Time random noise and secret coins: `make bench`, or run this file where the peers are installed.

Every sampler is asked for values in a process of its own, on one thread: nanoseconds of CPU time a value, the best of
five rounds. OpenDP's sampler is exact, as hush's is; numpy's is not secure and not exact, and is the speed that floats
can have. Coins are those of a Poisson sample at rate 0.1, tossed for every record. The tables go to results/noise.md,
the numbers to results/noise.json.
"""

import json
import sys
import time
from collections.abc import Callable

import numpy as np
import processes
from processes import Row
from tables import about, listed, table, versions, write

TIME_LIMIT = 300  # seconds for one sampler
ROUNDS = 5
PATIENCE = 5.0  # CPU seconds after which no further round is begun
SCALES = {"1": 1.0, "1000": 1000.0, "2^40": 2.0**40}
KINDS = ["laplace", "gaussian"]
COINS = 1 << 24
RATE = 0.1
PACKAGES = ["hush", "opendp", "numpy", "cryptography"]

Task = Callable[[], object]


def hush_noise(kind: str, scale: float, rounded: bool) -> tuple[Task, int]:
    """A million values from the secure source."""
    from hush import SecureSource
    from hush.randomness import integer_noise

    draw = getattr(integer_noise, f"{'rounded' if rounded else 'discrete'}_{kind}")
    return lambda: draw(SecureSource(), scale, 1_000_000), 1_000_000


def opendp_noise(kind: str, scale: float) -> tuple[Task, int]:
    """Ten thousand integers with its discrete noise."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    count = 10_000
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    if kind == "laplace":
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), scale=scale)
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=dp.f64), scale=scale)
    zeros = [0] * count
    return lambda: measurement(zeros), count


def numpy_noise(kind: str, scale: float) -> tuple[Task, int]:
    """A million floats from PCG64: neither secure nor exact."""
    generator = np.random.default_rng()
    draw = generator.laplace if kind == "laplace" else generator.normal
    return lambda: draw(0.0, scale, 1_000_000), 1_000_000


def hush_coins() -> tuple[Task, int]:
    """Exact coins from the secure source."""
    from hush import SecureSource
    from hush.randomness.draws import tosses

    return lambda: tosses(SecureSource(), COINS, RATE), COINS


def hush_sample() -> tuple[Task, int]:
    """The places of a Poisson sample at rate 0.01 of a hundred million records."""
    from hush import SecureSource
    from hush.randomness.draws import successes

    return lambda: successes(SecureSource(), 10**8, 0.01), 10**8


def numpy_coins() -> tuple[Task, int]:
    """Floats from PCG64 below the rate."""
    generator = np.random.default_rng()
    return lambda: generator.random(COINS) < RATE, COINS


PEERS: dict[str, Callable[[str, float], tuple[Task, int]]] = {
    "hush, discrete": lambda kind, scale: hush_noise(kind, scale, False),
    "hush, rounded": lambda kind, scale: hush_noise(kind, scale, True),
    "OpenDP, discrete": opendp_noise,
    "numpy, floats": numpy_noise,
}
COIN_PEERS: dict[str, Callable[[], tuple[Task, int]]] = {
    "hush, a coin a record": hush_coins,
    "hush, the sampled places, rate 0.01": hush_sample,
    "numpy, floats": numpy_coins,
}


def measure(peer: str, kind: str, scale: str) -> dict[str, object]:
    """Nanoseconds of CPU time a value, the best round after a warm-up."""
    task, count = COIN_PEERS[peer]() if kind == "coins" else PEERS[peer](kind, SCALES[scale])
    begun, times = time.process_time(), []
    task()
    while len(times) < ROUNDS and (not times or time.process_time() - begun < PATIENCE):
        start = time.process_time()
        task()
        times.append(time.process_time() - start)
    return {"nanoseconds": min(times) / count * 1e9}


def ask(peer: str, kind: str, scale: str) -> Row:
    """The same in a fresh process; a failure is a row too."""
    asked = {"peer": peer, "kind": kind, "scale": scale}
    return asked | processes.row(__file__, peer, kind, scale, limit=TIME_LIMIT)


def cell(rows: list[Row], peer: str, kind: str, scale: str) -> str:
    """What one sampler took."""
    row = next(r for r in rows if (r["peer"], r["kind"], r["scale"]) == (peer, kind, scale))
    if "failure" in row:
        return "fails"
    return f"{row['nanoseconds']:,.3g}" if row["nanoseconds"] < 1000 else f"{row['nanoseconds']:,.0f}"


def report(rows: list[Row]) -> str:
    """The Markdown page."""
    lines = ["# Noise and coins, timed", "", about(__doc__), "", f"{listed(versions(PACKAGES))}.", ""]
    for kind in KINDS:
        lines += [f"## {kind.capitalize()}, nanoseconds a value by scale", ""]
        lines += table(["sampler", *SCALES], [[p, *(cell(rows, p, kind, s) for s in SCALES)] for p in PEERS])
    lines += ["## Coins, millions of records a second", ""]
    coins = [row for row in rows if row["kind"] == "coins"]
    speeds = [f"{1e3 / row['nanoseconds']:,.0f}" if "nanoseconds" in row else "fails" for row in coins]
    lines += table(["sampler", "M/s"], [[row["peer"], speed] for row, speed in zip(coins, speeds, strict=True)])
    return "\n".join(lines)


def main() -> None:
    """With three names: measure. Else: ask everything, write both files."""
    if len(sys.argv) == 4:
        print("\n" + json.dumps(measure(*sys.argv[1:])))
        return
    rows = [ask(peer, kind, scale) for kind in KINDS for scale in SCALES for peer in PEERS]
    rows += [ask(peer, "coins", "-") for peer in COIN_PEERS]
    page = report(rows)
    write("noise", page, {"rows": rows})
    print(page)


if __name__ == "__main__":
    main()
