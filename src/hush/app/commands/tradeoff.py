"""`hush tradeoff`: the least false negative rate of any attacker at a false positive rate."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from hush.app import output
from hush.app.options import LANGUAGE, add_examples, add_mechanism, mechanism_of
from hush.numerics.decimals import rounded_up


def add(parser: ArgumentParser) -> None:
    """The options."""
    add_mechanism(parser)
    parser.add_argument("--fpr", type=float, required=True, help="false positive rate: how often an attacker is wrong")
    add_examples(parser, 'hush tradeoff "gaussian 2" --fpr 0.01', more=LANGUAGE)


def run(arguments: Namespace) -> str:
    """The bound, as text or JSON."""
    mechanism = mechanism_of(arguments)
    bound = mechanism.tradeoff(false_positive_rate=arguments.fpr)
    if arguments.json:
        return output.about(mechanism, output.fields(bound) | {"false_positive_rate": arguments.fpr})
    caught = rounded_up(100 * (1 - bound.lower), 4)
    hint = f"the best attacker finds at most {caught}% at {100 * arguments.fpr:g}% false alarms"
    return output.answer(mechanism, bound, f"at false positive rate {arguments.fpr:g}", hint)
