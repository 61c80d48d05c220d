"""The paper and its theory rerun, and other methods to compare with. The product imports none of it."""
