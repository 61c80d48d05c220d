"""What several test files share."""

import signal

import hypothesis
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
