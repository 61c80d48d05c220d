"""Field Local EGOP against its peers: data sets x methods, with what each fit costs.

``python benchmarks/peers.py --quick --output FOLDER`` runs the quick form, ``--full`` all; ``--resume``
goes on with what a folder holds. ``summary`` and ``report`` read stored results; ``list`` names entries.
"""

import sys

if __name__ == "__main__":  # not above: the processes of the cells import this file, and are measured
    from comparison.command import main

    main(sys.argv[1:])
