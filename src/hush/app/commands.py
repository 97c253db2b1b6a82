"""What each command does with its parsed arguments: one text to print."""

from __future__ import annotations

import json
import math
from argparse import Namespace

import hush
from hush.curves.bound import Bound
from hush.errors import InvalidParameter
from hush.mechanisms.mechanism import Mechanism
from hush.numerics.decimals import rounded_down, rounded_up

OVER = {"noise": (0.05, 10_000.0), "rate": (1e-9, 1.0), "steps": (1, 10**12)}
"""Where calibrate searches unless told."""


class Refutation(str):
    """The output of an audit that refuted a claim."""


def run(arguments: Namespace) -> str:
    """The output of one command."""
    if arguments.command in ("chart", "compare", "compose", "figures"):
        from hush.app import pictures

        return pictures.run(arguments)
    if arguments.command == "audit":
        from hush.app import audit

        return audit.run(arguments)
    return {
        "epsilon": _epsilon,
        "delta": _delta,
        "tradeoff": _tradeoff,
        "explain": _explain,
        "statement": _statement,
        "calibrate": _calibrate,
        "iterate": _iterate,
        "plan": _plan,
        "release": _release,
        "words": _words,
    }[arguments.command](arguments)


def mechanism_of(arguments: Namespace) -> Mechanism:
    """The mechanism of an expression, or of --noise, --rate and --steps."""
    short = {name: getattr(arguments, name) for name in OVER}
    given = [name for name, value in short.items() if value is not None]
    if arguments.expression is not None:
        if given:
            raise InvalidParameter("hush", "either an expression or --noise, --rate and --steps", both=given)
        from hush.app.expression import parse

        return parse(arguments.expression)
    if len(given) < len(short):
        missing = [f"--{name}" for name in short if name not in given]
        raise InvalidParameter("hush", "an expression, or all of --noise, --rate and --steps", missing=missing)
    return _training(**short)


def _training(noise: float, rate: float, steps: float) -> Mechanism:
    return hush.Gaussian(noise).on(hush.Poisson(rate=rate)).repeat(steps)  # type: ignore[arg-type]


def _epsilon(arguments: Namespace) -> str:
    mechanism = mechanism_of(arguments)
    bound = mechanism.epsilon(delta=arguments.delta, tolerance=arguments.tolerance)
    return _shown(arguments, mechanism, bound, f"at delta {arguments.delta:g}")


def _delta(arguments: Namespace) -> str:
    mechanism = mechanism_of(arguments)
    bound = mechanism.delta(epsilon=arguments.epsilon, tolerance=arguments.tolerance)
    return _shown(arguments, mechanism, bound, f"at epsilon {arguments.epsilon:g}")


def _tradeoff(arguments: Namespace) -> str:
    mechanism = mechanism_of(arguments)
    bound = mechanism.tradeoff(false_positive_rate=arguments.fpr)
    if arguments.json:
        return _json(mechanism, _fields(bound) | {"false_positive_rate": arguments.fpr})
    caught = rounded_up(100 * (1 - bound.lower), 4)
    hint = f"the best attacker finds at most {caught}% at {100 * arguments.fpr:g}% false alarms"
    return _answer(mechanism, bound, f"at false positive rate {arguments.fpr:g}", hint)


def _explain(arguments: Namespace) -> str:
    mechanism = mechanism_of(arguments)
    return _text(arguments, mechanism, mechanism.explain(delta=arguments.delta))


def _statement(arguments: Namespace) -> str:
    mechanism = mechanism_of(arguments)
    return _text(arguments, mechanism, mechanism.statement(delta=arguments.delta, unit=arguments.unit))


def _calibrate(arguments: Namespace) -> str:
    sought = arguments.sought
    given = {name: getattr(arguments, name) for name in OVER if name != sought}
    if getattr(arguments, sought) is not None:
        raise InvalidParameter(
            "hush calibrate", f"--{sought} left out: it is sought", **{sought: getattr(arguments, sought)}
        )
    missing = [f"--{name}" for name, value in given.items() if value is None]
    if missing:
        raise InvalidParameter("hush calibrate", f"{' and '.join(f'--{name}' for name in given)}", missing=missing)
    over = tuple(arguments.over or OVER[sought])
    if sought == "steps":
        over = tuple(int(end) if end == math.floor(end) else end for end in over)
    found = hush.calibrate(
        lambda value: _training(**given, **{sought: value}),
        over=over,  # type: ignore[arg-type]
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        advantage=arguments.advantage,
        tolerance=arguments.tolerance,
    )
    if arguments.json:
        return _json(found.mechanism, _fields(found.bound) | {"sought": sought, "value": found.value})
    # To the safe side: more noise, but a lower rate.
    value = rounded_up(found.value, 9) if sought == "noise" else rounded_down(found.value, 9)
    where = f"at delta {arguments.delta:g}" if arguments.delta is not None else ""
    return f"{sought} = {value}\n{_answer(found.mechanism, found.bound, where, '')}"


def _release(arguments: Namespace) -> str:
    from hush.app.release import answer

    return answer(arguments)


def _iterate(arguments: Namespace) -> str:
    from hush.app.iterate import answer

    return answer(arguments)


def _plan(arguments: Namespace) -> str:
    from hush.app.plan import answer

    return answer(arguments)


def _words(_: Namespace) -> str:
    from hush.app.expression import words

    return words()


# -- output --------------------------------------------------------------------------------------------------


def _shown(arguments: Namespace, mechanism: Mechanism, bound: Bound, where: str) -> str:
    if arguments.json:
        return _json(mechanism, _fields(bound))
    return _answer(mechanism, bound, where, "`hush explain` names the theorems, and what is assumed")


def _answer(mechanism: Mechanism, bound: Bound, where: str, hint: str) -> str:
    lines = [
        f"{bound.quantity} {_headline(bound)} {where}".rstrip(),
        f"  certified  {rounded_down(bound.lower, 10)} to {rounded_up(bound.upper, 10)}",
        f"  relation   {mechanism.compared}",
        f"  mechanism  {mechanism}",
        *([f"  hint       {hint}"] if hint else []),
    ]
    return "\n".join(lines)


def _headline(bound: Bound) -> str:
    """The number to report: the end of the interval that is safe to claim, rounded to the safe side."""
    narrow = bound.width <= 1e-5
    digits = 7 if narrow else 4
    if bound.quantity == "false negative rate":
        return f"{'=' if narrow else '>='} {rounded_down(bound.lower, digits)}"
    return f"{'=' if narrow else '<='} {rounded_up(bound.upper, digits)}"


def _text(arguments: Namespace, mechanism: Mechanism, text: str) -> str:
    return _json(mechanism, {"delta": arguments.delta, "text": text}) if arguments.json else text


def _fields(bound: Bound) -> dict[str, object]:
    fields: dict[str, object] = {
        "quantity": bound.quantity,
        "lower": bound.lower,
        "upper": bound.upper,
        "delta": bound.delta,
        "epsilon": bound.epsilon,
        "route": bound.route,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _json(mechanism: Mechanism, fields: dict[str, object]) -> str:
    document = {name: "inf" if value == math.inf else value for name, value in fields.items()}
    document["relation"] = mechanism.relation.value
    document["mechanism"] = json.loads(hush.to_json(mechanism))
    return json.dumps(document, allow_nan=False)
