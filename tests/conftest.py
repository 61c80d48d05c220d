"""What several test files share."""

import signal
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)  # of `make test-all`
hypothesis.settings.load_profile("tests")


@pytest.fixture
def heed_ctrl_c():
    """Let SIGINT interrupt, which a shell in the background has its children ignore."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


FIRST_STATES: dict[
    ModuleType, list[tuple[np.random.Generator, Any]]
] = {}  # of the generators of test files


def pytest_collection_finish(session):
    """Remember where the random generators that test files share between tests stand after the import."""
    for module in {item.module for item in session.items if hasattr(item, "module")}:
        shared = [each for each in vars(module).values() if isinstance(each, np.random.Generator)]
        FIRST_STATES[module] = [(each, each.bit_generator.state) for each in shared]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Begin these generators anew, so that the draws of a test do not depend on what ran before it."""
    for generator, state in FIRST_STATES.get(getattr(item, "module", None), ()):
        generator.bit_generator.state = state
