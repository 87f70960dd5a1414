"""The compared protocols with their rates, the problems, and the inequalities of the workers."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Method:
    label: str
    colour: str
    flags: tuple
    start: float  # where the search for its learning rate begins

    @property
    def sums(self):
        return self.flags[-1] == "sum"


# Where updates are added, the updates of all workers together make a step 30 times as long.
_STARTS = {"sum": 0.5, "constant": 64.0, "dynamic": 128.0}


def _method(label, colour, protocol, rate):
    return Method(label, colour, ("--method", *protocol, "--rate", rate), _STARTS[rate])


def _ssp(label, colour, rate, staleness):
    return _method(f"{label}, s = {staleness}", colour, ("ssp", "--staleness", staleness), rate)


METHODS = {
    "bsp": _method("BSP, sum", "black", ("bsp",), "sum"),
    "bsp-mean": _method("BSP, mean", "tab:purple", ("bsp",), "constant"),
    "asp": _method("ASP, sum", "tab:gray", ("asp",), "sum"),
    "ssp-3": _ssp("SSPSGD", "tab:orange", "sum", 3),
    "ssp-10": _ssp("SSPSGD", "tab:red", "sum", 10),
    "con-3": _ssp("ConSGD", "deepskyblue", "constant", 3),
    "con-10": _ssp("ConSGD", "tab:blue", "constant", 10),
    "dyn-3": _ssp("DynSGD", "limegreen", "dynamic", 3),
    "dyn-10": _ssp("DynSGD", "tab:green", "dynamic", 10),
}


@dataclasses.dataclass(frozen=True)
class Problem:
    label: str
    data: str
    loss: str
    target: float  # the objective that counts as reached
    # Methods that add updates are trained, too. They do not reach further targets in any reasonable
    # time.
    sums: bool = True


PROBLEMS = {
    "url-lr": Problem("logistic regression, URL-like data, 3.2 M features", "url", "logistic", 0.36),
    "url-svm": Problem("SVM, URL-like data, 3.2 M features", "url", "hinge", 0.33),
    "fashion-lr": Problem("logistic regression, Fashion-MNIST", "fashion", "logistic", 0.19),
    "fashion-svm": Problem("SVM, Fashion-MNIST", "fashion", "hinge", 0.17),
    "url-lr-far": Problem("logistic regression, URL-like data, a further target", "url", "logistic", 0.25, False),
    "url-svm-far": Problem("SVM, URL-like data, a further target", "url", "hinge", 0.24, False),
    "fashion-lr-far": Problem("logistic regression, Fashion-MNIST, a further target", "fashion", "logistic", 0.17, False),
    "fashion-svm-far": Problem("SVM, Fashion-MNIST, a further target", "fashion", "hinge", 0.15, False),
}

# The heterogeneity level of the paper: how many times longer a step of the slow workers lasts.
LEVELS = {"1": "workers of equal speed", "2": "20 % of the workers 2 times slower"}
