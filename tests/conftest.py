"""What several test files share."""

import signal

import pytest


@pytest.fixture
def heed_ctrl_c():
    """Let SIGINT interrupt, which a shell in the background has its children ignore."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)
