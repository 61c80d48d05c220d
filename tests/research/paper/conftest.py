"""What the tests of the paper's experiments share."""

import numpy as np
import pytest

from localegop.research.paper.__main__ import main


def waves(shape=(80, 100), period=16.0):
    """An image of waves that go up to the right at 45 degrees."""
    rows, columns = np.indices(shape)
    return 0.5 + 0.5 * np.sin(2.0 * np.pi * (rows + columns) / period)


@pytest.fixture
def stripes():
    """Function of a shape and a period that returns an image of waves."""
    return waves


@pytest.fixture
def image_file():
    """Function that writes pixels to a file and returns its path."""

    def write(path, pixels):
        from matplotlib.image import imsave

        imsave(path, pixels, cmap="gray", vmin=0, vmax=1)
        return path

    return write


@pytest.fixture
def one_line_and_two(capsys):
    """Function that runs a command, which must end with code 2, and returns its one line of error."""

    def run(arguments):
        assert main([str(argument) for argument in arguments]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        return lines[0]

    return run
