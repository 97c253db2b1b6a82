"""The calculator of the page: epsilon of an expression or a training run, which noise meets a target, and what if."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hush
from hush.app import output
from hush.app.expression import NUMBERS, SWITCHES, Form, Said, atoms, made, parse, pipes, read
from hush.app.options import ANYWHERE, OVER
from hush.app.service.questions.question_fields import field, number, text
from hush.curves.bound import Bound
from hush.errors import HushError, InvalidParameter
from hush.mechanisms.description import Parameter, choices, parameters, word_of
from hush.mechanisms.mechanism import Mechanism
from hush.mechanisms.scheme import Scheme
from hush.numerics.decimals import rounded_down, rounded_up
from hush.questions.planning.training.train_plan import TrainPlan, train_plan
from hush.questions.schemes_compared import USUAL

SCHEMES: dict[str, type[Scheme]] = {word_of(kind): kind for kind in USUAL}
"""How batches may be drawn, by the word that an expression has for it."""

Answer = dict[str, Any]


def words(_: Answer) -> Answer:
    """Every word that an expression may have, with what may follow it: the forms of the page are made of it."""
    schemes = [{"word": word, "title": kind.title or word} for word, kind in SCHEMES.items()]
    return {"atoms": [_form(form) for form in atoms()], "pipes": [_form(form) for form in pipes()], "schemes": schemes}


def _form(form: Form) -> Answer:
    return {"word": form.word, "usage": form.usage, "parameters": [_parameter(one) for one in form.parameters]}


def _parameter(parameter: Parameter) -> Answer:
    kind = parameter.present
    if kind in NUMBERS:
        options: list[str] | None = None
    else:
        options = list(SWITCHES) if kind is bool else list(choices(kind)) if isinstance(kind, type) else None
    many = kind not in NUMBERS and options is None
    return {"name": parameter.name, "required": parameter.required, "options": options, "many": many}


def epsilon(given: Answer) -> Answer:
    """The least epsilon at a delta, as `hush epsilon` gives it."""
    said = text(given, "expression")
    mechanism = parse(said)
    return about(said, mechanism, mechanism.epsilon(delta=number(given, "delta")))


def about(said: str, mechanism: Mechanism, bound: Bound) -> Answer:
    """A bound with the words around it, every number rounded to the safe side."""
    return output.fields(bound) | {
        "expression": said,
        "mechanism": str(mechanism),
        "relation": mechanism.relation.value,
        "compared": mechanism.compared,
        "shown": rounded_up(bound.upper, 4),
        "from": rounded_down(bound.lower, 7),
        "to": rounded_up(bound.upper, 7),
        "wide": bound.wide,
        "factor": rounded_up(math.exp(bound.upper), 3) if bound.upper < 500 else None,
    }


def training(given: Answer) -> Answer:
    """A run of DP-SGD: its epsilon, or the least noise that meets one; with the expression that says the same."""
    plan = planned(given)
    steps = {"steps": plan.steps, "batch": plan.expected_batch, "noise": plan.noise_multiplier}
    return about(said_plan(plan), plan.mechanism, plan.bound) | steps | {"noise_shown": rounded_up(steps["noise"], 6)}


def planned(given: Answer, **changed: Any) -> TrainPlan:
    """The plan of the form's fields; with `target` the least noise that meets this epsilon."""
    fields = given | changed
    scheme = text(fields, "scheme")
    if scheme not in SCHEMES:
        raise InvalidParameter("A training run", f"a scheme, one of: {', '.join(SCHEMES)}", scheme=scheme)
    target = number(fields, "target") if fields.get("target") is not None else None
    return train_plan(
        examples=number(fields, "examples"),  # type: ignore[arg-type]
        batch_size=number(fields, "batch_size"),  # type: ignore[arg-type]
        epochs=number(fields, "epochs"),
        delta=number(fields, "delta"),
        scheme=SCHEMES[scheme],
        epsilon=target,
        noise_multiplier=number(fields, "noise") if target is None else None,
    )


def said_plan(plan: TrainPlan) -> str:
    """The plan as an expression.

    >>> said_plan(train_plan(examples=100, batch_size=10, epochs=2, noise_multiplier=1.0, delta=1e-3))
    'gaussian 1.0 | poisson 0.1 | repeat 20'
    """
    kind = type(plan.scheme)
    given = [(p, getattr(plan.scheme, p.name)) for p in parameters(kind)]
    unusual = [(p, value) for p, value in given if p.required or value != getattr(kind, p.name)]
    said = [str(value) if p.required else f"{p.name}={value}" for p, value in unusual]
    drawn = " ".join([word_of(kind), *said])
    times = -(-plan.steps // plan.epoch_steps)
    parts = [f"gaussian {plan.noise_multiplier!r}", drawn, *([f"repeat {times}"] if times != 1 else [])]
    whole = " | ".join(parts)
    for form in (whole, f"{whole} | replace"):
        if parse(form) == plan.mechanism:
            return form
    raise InvalidParameter("A training run", "a plan that an expression can say", scheme=str(plan.scheme))


# -- which noise -------------------------------------------------------------------------------------------------


def noise(given: Answer) -> Answer:
    """The value of one number of an expression that just meets epsilon at delta."""
    said = read(text(given, "expression"))
    release, part, name = (field(given, key) for key in ("release", "part", "parameter"))
    build = _rebuilt(said, release, part, name)
    found = hush.calibrate(
        build,
        over=_range(said[release][part].form.word),
        epsilon=number(given, "epsilon"),
        delta=number(given, "delta"),
    )
    return about("", found.mechanism, found.bound) | {"value": found.value, "fails_at": found.fails_at}


def _range(word: str) -> tuple[float, float]:
    """Where the number is sought: rates up to 1, repetitions as whole numbers, all else as noise."""
    low, high = OVER.get({"poisson": "rate", "repeat": "steps"}.get(word, word), ANYWHERE)
    return (int(low), int(high)) if word == "repeat" else (low, high)


def _rebuilt(said: list[list[Said]], release: object, part: object, name: object) -> Callable[[float], Mechanism]:
    """The expression with another value in one place."""
    places = [(r, p, key) for r, parts in enumerate(said) for p, one in enumerate(parts) for key in one.values]
    if (release, part, name) not in places or not isinstance(release, int) or not isinstance(part, int):
        raise InvalidParameter("The question", "the place of a number in the expression", parameter=name)

    def build(value: float) -> Mechanism:
        changed = [[Said(one.form, dict(one.values)) for one in parts] for parts in said]
        changed[release][part].values[name] = value  # type: ignore[index]
        return made(changed)

    return build


# -- what if -----------------------------------------------------------------------------------------------------


def what_if(given: Answer) -> Answer:
    """The same run with one thing changed, each with its epsilon."""
    delta = number(given, "delta")
    changes = _training_changes(given) if given.get("examples") is not None else _run_changes(text(given, "expression"))
    rows = []
    for words, build in changes:
        try:
            mechanism = build()
            bound = mechanism.epsilon(delta=delta)
            rows.append({"change": words} | about("", mechanism, bound))
        except HushError as reason:
            rows.append({"change": words, "reason": str(reason)})
    return {"rows": rows}


def _training_changes(given: Answer) -> list[tuple[str, Callable[[], Mechanism]]]:
    noise, examples, epochs = (number(given, name) for name in ("noise", "examples", "epochs"))
    batch = number(given, "batch_size")
    other = "shuffled-batches" if given.get("scheme") != "shuffled-batches" else "poisson"
    titles = {word: kind.title for word, kind in SCHEMES.items()}
    changes: dict[str, dict[str, Any]] = {
        "as it is": {},
        "half the noise": {"noise": noise / 2},
        "twice the noise": {"noise": 2 * noise},
        "ten times the data": {"examples": 10 * examples},
        "a tenth of the data": {"examples": max(round(examples / 10), batch)},
        "twice the epochs": {"epochs": 2 * epochs},
        "twice the batch": {"batch_size": min(2 * batch, examples)},
        f"{titles[other]} instead": {"scheme": other},
    }
    return [(words, lambda change=change: planned(given, **change).mechanism) for words, change in changes.items()]


def _run_changes(said: str) -> list[tuple[str, Callable[[], Mechanism]]]:
    mechanism = parse(said)
    return [
        ("as it is", lambda: mechanism),
        ("all of it twice", lambda: mechanism.repeat(2)),
        ("all of it ten times", lambda: mechanism.repeat(10)),
        ("a family of four protected together", lambda: mechanism.group(4)),
        ("on a secret tenth of the records", lambda: mechanism.on(hush.Poisson(rate=0.1))),
        ("one record replaced", lambda: mechanism.under(hush.Relation.REPLACE)),
    ]
