"""Faults in the templates of the samplers that the exact test of Gandy and Scott (tests/gibbs) must find: by hand.

``python -m tools.gibbs_mutants [WORD ...]`` tries all faults, or those whose names hold all words.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.devices import available
from engine.devices.kernels import templates
from tests.support.invariance import (
    FAMILY_REPLICATES,
    LEVEL,
    REPLICATES,
    WIDE,
    WIDE_REPLICATES,
    X5,
    family_p_values,
    found_in,
)

MUTANTS = {
    "half missing in lambda": ("gibbs", "conditionals", "0.5 * before * b * b", "before * b * b"),
    "shape of tau": ("gibbs", "conditionals", "0.5 * (f64)(q - first + 1)", "0.5 * (f64)(q - first)"),
    "half missing in tau": ("gibbs", "conditionals", "0.5 * part[0]", "part[0]"),
    "tau missing in the precision of beta": ("gibbs", "conditionals", "own = tau * fresh", "own = fresh"),
    "rate of nu": ("gibbs", "conditionals", "/ (1.0 + fresh)", "/ (0.5 + fresh)"),
    "expansion of a flat prior": ("px", "conditionals", "rest = squares - part[0]", "rest = squares"),
    "power of tau": ("hmc", "scales", "(f64)(q - first - 1) * s.at", "(f64)(q - first) * s.at"),
    "rate of lambda given tau": ("hmc", "scales", "0.5 * tau * b * b", "tau * b * b"),
    "prior missing in the energy": ("hmc", "trajectory", "mine += prior[base + j] * b * b + r * r", "mine += r * r"),
    "momentum of the wrong size": ("hmc", "trajectory", "momentum[base + j] = r;", "momentum[base + j] = 0.5 * r;"),
    "no Jacobian of the rescaling": ("hmc", "rescale", "block}] + power * s.at${k} - log(", "block}] - log("),
    "intercept rescaled too": ("hmc", "rescale", "- pivot * ", "- 0.0f * "),
    "power of c for the coefficients that stay": ("hmc", "rescale", "power * s.at${k}", "s.at${k}"),
    "density of those that stay": ("hmc", "rescale", "+= log_prior_density(b[", "+= 0.0 * log_prior_density(b["),
    "slices at the height of the point": ("hmc", "horseshoe", "s.level = log(", "s.level = 0.0 * log("),
    "noise of the rows, seen in the intercept": ("wide", "wide", "margins[at] - d;", "margins[at] - 3.0 * d;"),
    "prior variance missing": ("wide", "wide", "variance[chain * stride + j] * sum", "sum"),
    "expansion in the wrong norm": ("wide", "wide", "mine += x * x;", "mine += 0.5 * x * x;"),
    "velocities, seen in the intercept": ("latent", "wide_latent", "+ i] + normal_of(", "+ i] + 3.0 * normal_of("),
    "reflections that lose speed": ("latent", "wide_latent", "? 2.0 * (v[hit]", "? 1.5 * (v[hit]"),
    "no reflections": ("latent", "wide_latent", "reflects = until < left", "reflects = until < 0.0"),
    "noise in the covariance, seen in the intercept": ("latent", "wide_latent", "value + 1.0 :", "value + 4.0 :"),
    "inverse deviations of the prior": ("latent", "scales", "1.0 / sqrt(diagonal[j] + own)", "sqrt(own)"),
    "points that are accepted outside the slice": ("hmc", "horseshoe", "> s.level ? {k}", "> s.level - 0.7 ? {k}"),
    "no Jacobian of the tails": ("lines", "lines", " + log(cosh(u))", ""),
    "intercept's prior missing in the tails": ("lines", "lines", "density -= 0.5 *", "density -= 0.0 *"),
    "intercept moved against the tails": ("lines", "lines", "b[0] = pivot + t *", "b[0] = pivot - t *"),
    "density of the proposal missing": ("lines", "lines", " + log(part[${block}]) - log(part[${2 * block}])", ""),
    "intercept's prior missing in a jump": ("lines", "lines", "change -= 0.5 *", "change -= 0.0 *"),
    "intercept moved against a jump": ("lines", "lines", "b[0] += shift", "b[0] -= shift"),
    "likelihood missing in a jump": ("lines", "lines", "mine += likelihood;", ""),
    "column left in the matrix": ("local", "wide_local", "s = line[k] * without", "s = line[k]"),
    "score of the column": ("local", "wide_local", "line[count] * without", "0.5 * line[count] * without"),
    "prior of lambda": ("local", "wide_local", "- apart - log1p(", "- 0.5 * apart - log1p("),
    "change of the matrix": ("local", "wide_local", "+ k] = variance - before;", "+ k] = 0.0;"),
    "determinant of an exchange": ("local", "wide_local", "0.5 * (form - log(determinant))", "0.5 * form"),
    "scores in an exchange": ("local", "wide_local", "0.5 * (form - log(", "0.5 * (0.0 - log("),
    "Jacobian of the latent normals": ("latent", "wide_scales", "(f64)row_count * t->stretch", "0.0 * t->stretch"),
    "normals of the prior": ("cg", "conjugate", "f64 sum = sqrt(prior[", "f64 sum = 2.0 * sqrt(prior["),
    "normals of the rows": ("cg", "sparse_rows", "(f64)sign * sqrt(drawn) * d", "2.0 * (f64)sign * sqrt(drawn) * d"),
    "size of the latent variables": ("cg", "polya_gamma", "return 0.25 * x;", "return 0.5 * x;"),
    "prior in the matrix": ("cg", "conjugate", "(sum + prior[base + j]", "(sum + 0.5 * prior[base + j]"),
    "score at what is proposed": ("independent", "independence", "s2 * (sum - prior", "s2 * (0.0 * sum - prior"),
    "density of what is proposed": ("independent", "independence", "mine -= log_proposal", "mine += log_proposal"),
    "density of the step back": ("independent", "independence", "mine += log_proposal", "mine += 0.5 * log_proposal"),
    "prior of a proposal": ("independent", "independence", "mine += log_prior", "mine -= log_prior"),
    "likelihood of a proposal": (
        "independent",
        "independence",
        "+ likelihood - score[",
        "+ 0.0 * likelihood - 0.0 * score[",
    ),
    "power of tau in a proposal": ("independent", "independence", "(f64)(q - first - 1)", "(f64)(q - first)"),
    "prior of tau in a proposal": ("independent", "independence", "inverse_width / precision)", "inverse_width)"),
    "prior missing in a jump": ("lines", "lines", "+= log_prior_density(x_m", "+= 0.0 * log_prior_density(x_m"),
}

SLAB_MUTANTS = {
    "scales": ("scales", "own = tau * fresh + ${penalty}", "own = tau * fresh"),
    "jumps": ("lines", "mine -= 0.5 * slab", "mine -= 0.0 * slab"),
    "tails": ("lines", "density -= 0.5 * slab", "density -= 0.0 * slab"),
    "rescaling": ("rescale", "density${k} -= penalty * exp(", "density${k} -= 0.0 * exp("),
}

PRIOR_MUTANTS = {
    "slab missing in lambda": ("regularized", "lines", "scales", '${bounded("tau")}', "0.0"),
    "slab missing in tau": ("regularized", "lines", "scales", '${bounded(f"(inverse{k} * inverse{k})")}', "0.0"),
    "constants missing in the slab": ("regularized", "lines", "scales", "slab[j] * inverse${k} / precision)", "0.0)"),
    "prior of the slab": ("regularized", "lines", "scales", "- slab_degrees * (s.at", "- 0.5 * slab_degrees * (s.at"),
    "slab missing in rescaling": ("regularized", "lines", "rescale", "/ (inverse${k} * inverse${k});", "/ precision;"),
    "slab's prior missing in rescaling": ("regularized", "lines", "rescale", "} = slab_degrees * (", "} = 0.0 * ("),
    "half missing in half-t scales": ("half_t", "gibbs", "conditionals", "+ 0.5 * before", "+ before"),
    "rate of the scales' own scale": ("half_t", "gibbs", "conditionals", "* fresh);", "* fresh * 2.0);"),
    "horseshoe's draws": ("half_t", "lines", "priors", "&& log(last) <", "|| log(last) <"),
    "mean of the inverse Gaussian": ("lasso", "px", "priors", "0.5 * mean * normal", "mean * normal"),
    "density of the lasso": ("lasso", "lines", "priors", "x < 0.0 ? x : -x;", "0.5 * (x < 0.0 ? x : -x);"),
    "density of the ridge": ("ridge", "lines", "priors", "-0.5 * x * x", "-x * x"),
}

FAMILY_MUTANTS = {
    "prior of sigma": ("normal", "auxiliary", "density += point->value[k] -", "density += 4.0 * point->value[k] -"),
    "prior of the thresholds": ("ordinal", "auxiliary", "density -= 0.5 * point->", "density -= -0.4 * point->"),
    "log sigma in the likelihood": ("student", "auxiliary", "(f32)(log_peak - point->value[0])", "(f32)log_peak"),
    "threshold of the category above": ("ordinal", "likelihoods", "shape->threshold[(i32)(y + 0.5f)] - x", "30.0f"),
    "small sizes of counts": ("counts", "auxiliary", "y * log(from / r)", "0.0"),
    "repeated counts": ("counts", "auxiliary", "sum${i} += times *", "sum${i} += 0.5 * times *"),
    "logarithm of the size": ("counts", "auxiliary", "log_size = (f32)(-2.0 *", "log_size = (f32)(-1.0 *"),
    "density of the points": ("normal", "auxiliary", "density += partial[", "density -= 0.5 * partial["),
}

WIDE_MUTANTS = {
    "prior of sigma beside wide X": ("normal", "wide_scales", " - log(1.0 + exp(2.0 * log_sigma))", ""),
    "prior of tau": ("normal", "wide_scales", " - 0.5 * log(precision)", ""),
    "intercept's variance with tau": ("normal", "wide_scales", " + fixed) + error", ") + error"),
    "determinant": ("normal", "wide_scales", "0.5 * x * x + log(", "0.5 * x * x + 0.0 * log("),
    "variances of the old tau": ("normal", "wide", "s *= sqrt(trial", "s += 0.0 * sqrt(trial"),
    "factor of another point": ("normal", "wide_scales", "].accepted)", "].accepted > 2)"),
    "sigma missing in the noise": ("normal", "wide", "* exp(LOG_SIGMA(auxiliary[chain]));", "* 1.0;"),
    "all proposals taken": ("normal", "wide_scales", "density - t->log_density +", "1.0 +"),
    "residuals missing in variances": ("student", "wide_scales", "0.5 * (degrees + apart * apart)", "0.5 * degrees"),
    "variances as deviations of the noise": ("student", "wide", "d *= sqrt(spread[at]) *", "d *= spread[at] *"),
    "variances missing in the matrix": ("student", "wide_scales", "? spread[line] *", "?"),
}


def runs():
    """Each fault's name, its place with what is put there, and functions that give p-values, cheap ones first."""

    def attempts(kernel, most, **model):
        """Most are found with the fewer replicates."""
        return [lambda member, number=number: found_in(member, kernel, number, **model) for number in (most // 4, most)]

    for name, (kernel, *change) in MUTANTS.items():
        wide = kernel in ("wide", "latent", "local")
        model = {"intercept": "intercept" in name or kernel in ("lines", "cg")}
        model |= {"family": "logit"} if kernel == "cg" else {}
        most = (2 if "intercept" in name and not wide else 3 if kernel == "independent" else 1) * REPLICATES
        yield name, change, attempts(kernel, WIDE_REPLICATES if wide or kernel == "cg" else most, **model)
    for name, change in SLAB_MUTANTS.items():
        tries = attempts("lines", (3 if name == "jumps" else 1) * REPLICATES, seed=3, slab=0.3)
        yield f"slab missing in {name}", change, tries
    for name, (kind, kernel, *change) in PRIOR_MUTANTS.items():
        yield name, change, attempts(kernel, WIDE_REPLICATES, seed=4, kind=kind)
    for name, (family, *change) in (FAMILY_MUTANTS | WIDE_MUTANTS).items():
        yield name, change, attempts_of_family(name, family)


def attempts_of_family(name, family):
    """Most are found with the fewer replicates."""
    wide = name in WIDE_MUTANTS
    ridge = None if family == "normal" or not wide else 0.3 if "matrix" in name else 3.0
    given = {"columns": WIDE if wide else X5, "ridge": ridge, "seed": 5 + wide}
    return [
        lambda member, number=number: family_p_values(member, family, replicates=number * FAMILY_REPLICATES, **given)
        for number in ((1, 4, 8) if wide else (1,))
    ]


def mutated(template, right, wrong, folder):
    """Templates with something wrong."""
    root = folder / "kernels"
    shutil.copytree(templates._TEMPLATES.root, root)
    place = root / "gibbs" / f"{template}.mako"
    text = place.read_text(encoding="utf-8")
    assert right in text, f"give the fault a new place: {right} ({template})"
    place.write_text(text.replace(right, wrong), encoding="utf-8")
    return templates._Kernels(root)


def main(words):
    member, survived = SimpleNamespace(info=available()[0][0]), 0
    for name, change, attempts in runs():
        if all(word in name for word in words):
            with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
                patch.setattr(templates, "_TEMPLATES", mutated(*change, Path(folder)))
                found = any(min(attempt(member).values()) < LEVEL for attempt in attempts)
            survived += not found
            print("killed  " if found else "survived", name, flush=True)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
