"""The exact search behind `robx.Closest`: a constraint program over the leaf boxes.

- `quorum`: the models that must accept an answer, and their trees one after the other.
- `demand`: what an accepted score asks of the sum of a model's leaf values.
- `options`: what an applicant can choose in each column, cell by cell, and what it costs.
- `program`: options and leaves that fit together, written down for CP-SAT.
- `search`: programs up to ever higher costs, until one has an answer.
- `warm_start`: answers to begin with, where there is a panel.
- `whole`: numbers made whole, which is all that the solver takes.

Between the thresholds of all models no split tells two values of a column apart, so of all allowed
values in such a cell only the nearest matters. What remains is to choose a cell for each column and
a leaf for each tree that fit together, with enough margin, at the least cost. CP-SAT of OR-tools
solves that. Sums of leaf values are whole numbers to it, rounded so that no accepted point is lost;
what it finds is scored by the models themselves, and excluded if rounding alone let it through.
"""
