"""Long computations made of parts, each kept as soon as it is finished: a run goes on where it ended.

The paper's experiments (:mod:`localegop.research.paper`) and the benchmark against other methods
(``benchmarks/comparison``) both work this way: ``workers`` computes parts in processes, with a time limit,
and survives their crash; ``progress`` says how far a run is; ``files`` writes results whole or not at all.
"""
