"""The page as an anywidget: live in a notebook, with the kernel in the place of the server."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from localegop._explorer import page
from localegop._explorer.scene import Scene


def make_widget(scene: Scene) -> Any:
    """Make a widget that shows a scene and answers what its page asks."""
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("the widget needs anywidget: pip install 'localegop[notebook]'") from error

    class ExplorerWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = f"{page.script()}\nexport default {{ render: renderWidget }};\n"
        _css = page.style()
        scene = traitlets.Unicode().tag(sync=True)  # as JSON, so that no number is changed on the way

    widget = ExplorerWidget(scene=page.to_json({**scene.start(), "fits": None, "training": None}))
    widget.on_msg(lambda _, content, buffers: widget.send(answer_message(scene, content)))
    return widget


def answer_message(scene: Scene, content: Any) -> dict[str, Any]:
    """Answer a question of the page: what it asked for, or an error, under the number of the question."""
    number = content.get("number") if isinstance(content, dict) else None
    try:
        X = np.array(content["queries"], dtype=float)
        answer = scene.answerer.answer(X, profiles=bool(content.get("profiles", True)))
    except Exception as error:
        return {"number": number, "error": f"{type(error).__name__}: {error}"}
    return {"number": number, "answer": json.loads(page.to_json(answer))}
