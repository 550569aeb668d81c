import io

import numpy as np
import pytest

from engine.runs.child import messages

ARRAYS = {
    "none": np.empty((0, 3)),
    "one": np.array(2**40),
    "columns": np.asfortranarray(np.arange(12, dtype=np.int16).reshape(3, 4)),
    "every other": np.arange(10, dtype=np.float32)[::2],
    "truths": np.array([True, False]),
    "words": np.array(["tree", "ü"]),
}


def test_arrays_come_as_they_were_sent_whatever_is_printed_between():
    stream = io.BytesIO()
    stream.write(b"Welcome to this host\n[1, 2]\n")
    messages.write(stream, {"message": "checkpoint", "state": {"at": np.int64(3), "inf": float("inf")}}, ARRAYS)
    stream.write(b'{"type": "notice", "message_is_an_event": 1}\n')
    messages.write(stream, {"message": "alive"})
    stream.seek(0)
    first = messages.read(stream)
    assert (first.name, first.content["state"]) == ("checkpoint", {"at": 3, "inf": float("inf")})
    assert first.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert first.arrays[name].dtype == array.dtype
        assert first.arrays[name].shape == array.shape
        assert np.array_equal(first.arrays[name], array)
        first.arrays[name].setflags(write=True)  # as those of a file
    assert [messages.read(stream).name, messages.read(stream).name] == ["event", "alive"]
    with pytest.raises(EOFError):
        messages.read(stream)
