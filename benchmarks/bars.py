"""Tables of what was measured against the bar it has to meet, printed as they grow."""

import math

HEAD = "| what | measured | bar | met |\n|---|---|---|---|"


class Table:
    """Rows of (what, measured, bar), printed as they come unless silent."""

    def __init__(self, silent=False):
        self.rows = []
        self.silent = silent

    def add(self, what, measured, bar, unit="", at_least=False):
        """Add a row; a measured NaN says that there was nothing to measure, which meets no bar."""
        missing = math.isnan(measured)
        good = not missing and bool(measured >= bar if at_least else measured <= bar)
        sign = ">=" if at_least else "<="
        shown = "not measured" if missing else f"{measured:.3g}{unit}"
        met = "-" if missing else "yes" if good else "NO"
        line = f"| {what} | {shown} | {sign} {bar:g}{unit} | {met} |"
        self.rows.append(
            {"what": what, "measured": measured, "bar": bar, "unit": unit, "met": good, "line": line}
        )
        if not self.silent:
            print(line, flush=True)

    def markdown(self):
        """All rows as a table."""
        return "\n".join([HEAD, *(row["line"] for row in self.rows)])
