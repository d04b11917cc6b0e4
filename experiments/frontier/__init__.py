"""What robustness costs: cost and number of changes against validity, for many methods.

`spec` says what is run, `methods` and `frugal` make the methods, `resamples` turns what came of
each applicant into `curves`, `checks` compares these, `report` writes the page, `run` does it all.
"""
