"""Two ideas beyond Algorithm 1 that the paper wishes for, tried at held-out points.

`shapes` has neighborhoods shaped by what curvature does to a linear fit, which may stay long along normals
that the AGOP contracts; `limits` follows them with exact derivatives, `samples` on data. `two_ends` has
neighborhoods that bend, from distances with the metrics of both ends. ``python -m
localegop.research.beyond`` prints the tables; docs/beyond.md says what they mean.
"""
