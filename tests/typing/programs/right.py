# pyright: strict
"""What a user writes, in pyright's strict mode: accounting, calibration, releases, a model, a training."""

import numpy as np
import torch

import hush
from hush import learning

step = hush.Gaussian(1.0).on(hush.Poisson(rate=0.01))
run: hush.Mechanism = step.repeat(1000).then(hush.Laplace(2.0))
bound: hush.Bound = run.epsilon(delta=1e-5)
print(bound.upper, run.delta(epsilon=2.0).upper, run.renyi(orders=[2, 8]), run.explain(delta=1e-5))

found = hush.calibrate(lambda noise: hush.Gaussian(noise), over=(0.1, 100.0), epsilon=1.0, delta=1e-6)
print(found.value, found.mechanism, found.bound.upper)

compared = hush.compositions(run, times=[1, 10], delta=1e-6)
print(compared.upper("basic", 10), compared.chart().lines[0].label)
planned = hush.plan.mean(population=1000, bounds=(0.0, 1.0), epsilon=1.0, relation=hush.Relation.REPLACE)
print(planned.best.error, planned.answer)

incomes = np.linspace(0.0, 2000.0, 1001)
release: hush.releases.Release = hush.releases.median(incomes, bounds=(0.0, 2000.0), epsilon=1.0)
print(release.mechanism.epsilon(delta=0.0).upper)
mean = hush.releases.Mean(bounds=(0.0, 2000.0), epsilon=1.0).on(hush.Poisson(rate=0.1))
print(mean.release(incomes).private)

rows, labels = np.zeros((10, 2)), np.arange(10) % 2
model = learning.LogisticRegression(data_norm=1.0, epsilon=1.0, delta=1e-5, classes=[0, 1]).fit(rows, labels)
print(model.epsilon)

plan = hush.train_plan(examples=100, batch_size=10, epochs=1, epsilon=3.0, delta=1e-3)
network = torch.nn.Linear(3, 2)
trained = learning.fit(
    network,
    (torch.zeros(100, 3), torch.zeros(100, dtype=torch.long)),
    plan,
    loss=torch.nn.functional.cross_entropy,
    max_norm=1.0,
)
print(trained.steps)
