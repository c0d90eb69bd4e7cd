"""reports/gains.csv: paired gains with tests over seeds and over test rows, one line each.

    experiment,benchmark,scale,generator,selection,classifier,decoding,split,metric,over,seeds,mean,std,ci95,low_rows,high_rows,p_seeds,p_rows

The first columns are those of results.csv and name what gains, and in which metric: acc on split unseen; harmonic (split unseen) in
experiments with a seen test set. `over` names what it is compared with, in everything else alike:
    none, oversample            the cell of that generator, same decoding (cells with fewer support texts or other options too)
    <generator>                 of a variant, the cell without the variation: "ld_vae" for ld_vae+kl_form=reference,
                                "top_k" for another selection of the same generator's texts, "bert" for bert+support=250
    threshold                   of a cell's composition_prior, its own threshold (harmonic)

seeds      how many seeds both have; mean, std, ci95 (half width of the 95 % t interval): of the differences paired by seed, in points
low_rows, high_rows  95 % bootstrap interval over test rows, each row averaged over the seeds
p_seeds, p_rows      paired t test over seeds, sign-flip test over rows, Holm-corrected over the lines of one experiment, benchmark, metric,
                     decoding and `over`; empty where there is no test (one seed; p_rows of a harmonic mean)
"""

from __future__ import annotations

COLUMNS = (
    "experiment",
    "benchmark",
    "scale",
    "generator",
    "selection",
    "classifier",
    "decoding",
    "split",
    "metric",
    "over",
    "seeds",
    "mean",
    "std",
    "ci95",
    "low_rows",
    "high_rows",
    "p_seeds",
    "p_rows",
)
