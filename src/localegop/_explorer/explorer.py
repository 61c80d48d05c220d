"""The explorer as users have it in Python: shown in a notebook, served, or written to a file."""

from __future__ import annotations

import html
import os
import webbrowser
from copy import copy
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from localegop._explorer.page import file_page
from localegop._explorer.scene import Scene
from localegop._explorer.server import Server
from localegop._progress import SILENT, Progress

FILE_ROWS = 500  # of a file, and of a notebook without anywidget
HEIGHT = 900  # of the page in a notebook, in pixels


class Explorer:
    """A page on which predictions can be looked into; what ``model.explore(X)`` returns.

    In a notebook it shows itself: as a live widget if anywidget is installed
    (``pip install 'localegop[notebook]'``), otherwise as a page with all answers in it. :meth:`serve` opens
    it in a browser, :meth:`save` writes one file that needs neither server nor network.

    Parameters
    ----------
    model : LocalEGOPRegressor
    X, y, coverage, view, title
        As in :meth:`LocalEGOPRegressor.explore`.
    numbers : array-like of shape (q,), optional
        Numbers of the rows of X as the page names them.
    first : int, default=0
        Number of the first training row, and of X without ``numbers``.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(150, 3, random_state=0)
    >>> model = LocalEGOPRegressor(n_iter=2, degree=1).fit(X, y)
    >>> model.explore(X[:5], y[:5])
    Explorer(rows=5, features=3, outputs=y)
    """

    def __init__(
        self,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        coverage: float = 0.9,
        view: str = "scatter",
        title: str | None = None,
        numbers: ArrayLike | None = None,
        first: int = 0,
    ) -> None:
        self.model = model = copy(model)
        model.verbose, model.callback = 0, None
        given = {"X": X, "y": y, "coverage": coverage, "view": view, "title": title}
        self._given: dict[str, Any] = given | {"numbers": numbers, "first": first}
        self.scene = Scene.of(model, **self._given)

    def __repr__(self) -> str:
        rows, features = self.scene.X.shape
        return f"Explorer(rows={rows}, features={features}, outputs={', '.join(self.model.output_names_)})"

    def to_html(self, rows: int = FILE_ROWS, progress: Progress = SILENT) -> str:
        """Return the page with all answers about at most so many rows, evenly spread, in it."""
        return file_page(Scene.of(self.model, **self._given, most=rows).everything(progress))

    def save(self, path: str | os.PathLike[str], rows: int = FILE_ROWS) -> None:
        """Write one file that works without any server or network.

        Parameters
        ----------
        path : str or path
        rows : int, default=500
            Rows whose answers are in it, evenly spread if there are more.
        """
        Path(path).write_text(self.to_html(rows), encoding="utf-8")

    def serve(self, port: int = 0, *, open_browser: bool = True) -> None:
        """Serve the page on this machine until Ctrl-C, and open it.

        Parameters
        ----------
        port : int, default=0
            0 takes one that is free.
        open_browser : bool, default=True
        """
        with Server(self.scene, port) as server:
            print(f"open {server.address} (Ctrl-C ends)", flush=True)
            if open_browser:
                webbrowser.open(server.address)
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                return

    def widget(self) -> Any:
        """Return the page as a live anywidget."""
        from localegop._explorer.widget import make_widget

        return make_widget(self.scene)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        try:
            shown: Any = self.widget()
        except ImportError:
            return {"text/plain": repr(self), "text/html": self._frame()}
        return shown._repr_mimebundle_(**options)

    def _frame(self) -> str:
        """Return the page in a frame of its own, apart from the notebook."""
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:0" '
            f'srcdoc="{html.escape(self.to_html())}"></iframe>'
        )
