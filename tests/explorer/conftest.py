"""Models, and pages that are served, for the tests of the explorer."""

import threading
from contextlib import contextmanager

import pytest
from tests.explorer.examples import make_class_model, make_class_rows, make_model, make_rows

from localegop._explorer.server import Server


@pytest.fixture(scope="session")
def model():
    return make_model()


@pytest.fixture(scope="session")
def rows():
    return make_rows(30, 1)


@pytest.fixture(scope="session")
def class_model():
    return make_class_model()


@pytest.fixture(scope="session")
def class_rows():
    return make_class_rows(12, 1)


@contextmanager
def serving(explorer):
    with Server(explorer.scene) as one:
        thread = threading.Thread(target=one.serve_forever, daemon=True)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def server(model, rows):
    with serving(model.explore(*rows)) as one:
        yield one


@pytest.fixture(scope="session")
def class_server(class_model, class_rows):
    with serving(class_model.explore(*class_rows)) as one:
        yield one
