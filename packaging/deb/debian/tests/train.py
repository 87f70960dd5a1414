"""A line is fitted to points by two workers, of which each knows half of them. Prints what was found."""

import numpy
import pace

with pace.Session("line", "all-reduce") as session:
    rank = session.info.rank
    gradient = session.buffer("f32", 2)
    x = numpy.random.default_rng(rank).uniform(-1, 1, 1000) + (rank - 0.5)
    points = numpy.stack([x, numpy.ones_like(x)]).astype("f4")
    y = numpy.array([3, -2], "f4") @ points
    model = numpy.zeros(2, "f4")
    for step in range(300):
        gradient.numpy()[:] = points @ (model @ points - y) / len(x)
        session.reduce(gradient).wait()
        model -= 0.5 * gradient.numpy()
    assert numpy.allclose(model, [3, -2], atol=1e-3), model
    print("slope and offset:", [round(float(number), 3) for number in model], flush=True)
