"""Files of arrays: a header, arrays, a checksum."""

import hashlib
import io
import json
import signal
import stat
import subprocess
import sys
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from localegop._data import archive


def test_what_is_written_is_read(tmp_path):
    header = {"names": ["a", "b"], "count": 3, "nothing": None}
    arrays = {"x": np.arange(6.0).reshape(2, 3), "n": np.array([1, 2])}
    archive.write(tmp_path / "file", header, arrays)
    again, found = archive.read(tmp_path / "file")
    assert again == {"format": archive.FORMAT, **header}
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    archive.write(tmp_path / "file", {"old": True}, {})

    def interrupt(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(archive.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        archive.write(tmp_path / "file", {"old": False}, {})
    assert archive.read(tmp_path / "file")[0]["old"] is True
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_leftovers_of_killed_saves_are_removed(tmp_path):
    """Of processes that were killed; those of running ones are locked, others have other targets."""
    fcntl = pytest.importorskip("fcntl")
    stale = tmp_path / ".file.1-0123456789abcdef.part"
    running = tmp_path / ".file.2-0123456789abcdef.part"
    other = tmp_path / ".file.txt.3-0123456789abcdef.part"
    for path in (stale, running, other):
        path.write_bytes(b"part of a file")
    with open(running, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        archive.write(tmp_path / "file", {}, {})
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "file", running, other])
    archive.write(tmp_path / "file", {}, {})
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "file", other])


KILLED = """
import os, signal, sys
from localegop._data import archive
archive.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
archive.write(sys.argv[1], {"old": False}, {})
"""


def test_a_killed_save_leaves_the_old_file_and_the_next_one_cleans_up(tmp_path):
    target = tmp_path / "file"
    archive.write(target, {"old": True}, {})
    run = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert run.returncode == -signal.SIGKILL and len(list(tmp_path.iterdir())) == 2
    assert archive.read(target)[0]["old"] is True
    archive.write(target, {"old": False}, {})
    assert list(tmp_path.iterdir()) == [target] and archive.read(target)[0]["old"] is False


def test_a_partial_file_taken_for_a_leftover_is_begun_anew(tmp_path, monkeypatch):
    lock, locked = archive._lock, []

    def removed_before_the_lock(file, *, wait):
        locked.append(file.name)
        if len(locked) == 1:
            archive.os.unlink(file.name)
        lock(file, wait=wait)

    monkeypatch.setattr(archive, "_lock", removed_before_the_lock)
    archive.write(tmp_path / "file", {}, {})
    assert len(set(locked)) == 2
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_file_and_folder_are_synced_in_this_order(tmp_path, monkeypatch):
    done = []
    sync, move = archive.os.fsync, archive.os.replace

    def synced(descriptor):
        done.append("folder" if stat.S_ISDIR(archive.os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def moved(*paths):
        done.append("replace")
        move(*paths)

    monkeypatch.setattr(archive.os, "fsync", synced)
    monkeypatch.setattr(archive.os, "replace", moved)
    archive.write(tmp_path / "file", {}, {})
    assert done == ["file", "replace", "folder"]


def sealed_members(*members):
    """A file of members (name, content, whether compressed), with a checksum that fits."""
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w") as file:
        warnings.simplefilter("ignore")
        for name, data, compressed in members:
            file.writestr(name, data, zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED)
        file.comment = b"0" * archive.CHECKSUM
    body = content.getvalue()[: -archive.CHECKSUM]
    return body + hashlib.sha256(body).hexdigest().encode()


def npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def text_member(text):
    return (f"{archive.HEADER}.npy", npy(np.frombuffer(text.encode(), dtype=np.uint8)), False)


FIRST = text_member('{"format": 5}')
PROMISE = npy(np.zeros(3)).replace(b"(3,), }      ", b"(3000000,), }", 1)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([FIRST, ("a.npy", npy(np.zeros(10**6)), True)], "'a.npy' is compressed or encrypted"),
        ([FIRST, ("a.npy", PROMISE, False)], "'a' has 24 bytes, but should have 24000000"),
        ([FIRST, ("a.npy", npy(np.zeros(3))[:-8], False)], "'a' has 16 bytes, but should have 24"),
        ([FIRST, ("a.npy", b"", False)], "'a' does not begin as an npy file"),
        ([FIRST, ("a.npy", npy(np.zeros((1, 1, 1, 1))), False)], "'a' has shape"),
        ([FIRST, ("a.npy", npy(np.array([True])), False)], "'a' has type bool"),
        ([FIRST, ("../a.npy", npy(np.zeros(3)), False)], "'../a.npy' is unknown"),
        ([FIRST, ("notes.txt", b"", False)], "'notes.txt' is unknown"),
        ([FIRST, ("a.npy", b"", False), ("a.npy", b"", False)], "two members of the same name"),
        ([text_member('{"format": 5, "format": 5}')], "two entries of the same name"),
        ([text_member('{"format": NaN}')], "holds NaN"),
        ([text_member("[" * 100_000)], "nested too deeply"),
        ([text_member("[3]")], "not an object"),
        ([text_member("{")], "its header is not JSON"),
    ],
)
def test_archives_that_are_refused(tmp_path, members, message):
    path = tmp_path / "file"
    path.write_bytes(sealed_members(*members))
    with pytest.raises(ValueError, match=f"file' is not a valid localegop model: .*{message}") as caught:
        archive.read(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_small_file_takes_little_memory(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(sealed_members(FIRST, ("a.npy", npy(np.zeros(10**7)), True)))
    assert path.stat().st_size < 2e5
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="compressed"):
            archive.read(path)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("found", [2, 3.0, True, None, "3"])
def test_other_formats_are_refused(tmp_path, found):
    path = tmp_path / "file"
    path.write_bytes(sealed_members(text_member(json.dumps({"format": found}))))
    with pytest.raises(ValueError, match=r"has format .*reads format 6: install the version that wrote it"):
        archive.read(path)
