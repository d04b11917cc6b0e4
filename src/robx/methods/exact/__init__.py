"""The exact search behind `robx.Closest`: a constraint program over the leaf boxes.

- `options`: what an applicant can choose in each column, cell by cell, and what it costs.
- `demand`: what an accepted score asks of the sum of leaf values.
- `program`: options and leaves that fit together, written down for CP-SAT.
- `search`: programs up to ever higher costs, until one has an answer.
- `whole`: numbers made whole, which is all that the solver takes.

Between the thresholds of an ensemble no split tells two values of a column apart, so of all allowed
values in such a cell only the nearest matters. What remains is to choose a cell for each column and
a leaf for each tree that fit together, with enough margin, at the least cost. CP-SAT of OR-tools
solves that. Sums of leaf values are whole numbers to it, rounded so that no accepted point is lost;
what it finds is scored by the ensemble itself, and excluded if rounding alone let it through.
"""
