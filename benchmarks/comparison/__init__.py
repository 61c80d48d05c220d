"""Field Local EGOP against its peers: data sets x methods, a child process per cell, one JSON file.

`datasets` names the data, `localegop.research.peers` the methods; `cells` measures one fit, `runs` all of
them, `summary` compares, `figures` and `report` show.
"""
