"""Dense tensors in a file of torch.save are read as torch.load reads them; everything else is refused."""

from __future__ import annotations

import sys
import tracemalloc
import zipfile
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from exporter.model.torch_file import StoredTensor, TorchFile, TorchFileError
from tests.support.fuzzing.bundles import quick

DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)
MOST_BYTES = 1 << 20


@st.composite
def views(draw: st.DrawFn) -> list[torch.Tensor]:
    """Views of one storage, with steps, offsets and repeated elements."""
    values = torch.arange(24).to(draw(st.sampled_from(DTYPES)))
    view = values.view(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4), (1, 24)])))
    return draw(
        st.lists(
            st.sampled_from(
                [
                    values,
                    view,
                    view.mT if view.ndim > 1 else view[3:],
                    view[1:],
                    view[..., ::2],
                    view[:1].expand(5, *view.shape[1:]),
                ]
            ),
            min_size=1,
            max_size=4,
        )
    )


@given(views(), views(), st.booleans())
def test_dense_tensors_are_those_of_torch(
    tmp_path_factory: pytest.TempPathFactory,
    some: list[torch.Tensor],
    others: list[torch.Tensor],
    parameter: bool,
) -> None:
    path = tmp_path_factory.mktemp("file") / "tensors.pth"
    tensors = {f"{number}": tensor for number, tensor in enumerate([*some, *others, torch.zeros(0, 3)])}
    if parameter and some[0].is_floating_point():
        tensors["parameter"] = torch.nn.Parameter(some[0])
    torch.save({"state": OrderedDict(tensors), "rest": [1, -1, 1 << 40, 1.5, None, True, "ə", ()]}, path)
    expected = torch.load(path, weights_only=True)
    with TorchFile(path, MOST_BYTES) as file:
        assert file.content["rest"] == expected["rest"]
        assert list(file.content["state"]) == list(tensors)
        for name, tensor in file.read(file.content["state"]):
            assert tensor.dtype == expected["state"][name].dtype
            assert tensor.stride() == expected["state"][name].stride()
            torch.testing.assert_close(tensor, expected["state"][name].data, rtol=0, atol=0)


def test_the_state_of_a_module_with_its_versions_is_read(tmp_path: Path) -> None:
    module = torch.nn.LSTM(3, 4)
    torch.save(module.state_dict(), tmp_path / "lstm.pth")
    with TorchFile(tmp_path / "lstm.pth", MOST_BYTES) as file:
        read = dict(file.read(file.content))
    assert read.keys() == module.state_dict().keys()
    assert all(torch.equal(read[name], value) for name, value in module.state_dict().items())


def written(path: Path, pickled: bytes, data: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickled)
        archive.writestr("model/data/0", data)
    return path


TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n("
    b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
)


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (
            b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x02\x85R.",
            r"builtins\.bytearray.* would run code",
        ),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01\x85R.", "a tensor that is not dense, or is damaged"),
        # The hash of a deeply nested tuple overflows the processor's stack.
        (b"\x80\x02}" + b")" + b"\x85" * 300_000 + b"K\x01s.", "a dict occurs twice, or is not a name"),
        (b"\x80\x02}X\x01\x00\x00\x00aK\x01sX\x01\x00\x00\x00aK\x01s.", "'a' of a dict occurs twice"),
        # The standard library's unpickler makes a table of this length.
        (b"\x80\x02Nr\xff\xff\xff\xff", "no end|exhausted"),
        (b"\x80\x02" + b"K\x01" * 600_000 + b".", "at most 1,048,576 bytes, found 1,200,003 bytes"),
        (b"\x80\x02.", "the stack is empty"),
        (b"\x80\x02t.", "a mark is missing"),
        (b"\x80\x04\x8c\x01a.", "SHORT_BINUNICODE 'a', which torch.save does not write"),
        (TENSOR + b"K\x00K\x05\x85K\x01\x85\x89Nt", "larger than its storage"),
        (TENSOR + b"K\x00\x8a\x05\x00\x00\x00\x00\x02\x85K\x01\x85\x89Nt", "larger than its storage"),
        (TENSOR + b"J\xff\xff\xff\xffK\x04\x85K\x01\x85\x89Nt", "not dense, or is damaged"),
    ],
)
def test_a_pickle_that_torch_does_not_write_is_refused_in_little_memory(
    pickled: bytes, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "file.pth", pickled + b"R." * pickled.startswith(TENSOR), bytes(16))
    tracemalloc.start()
    with pytest.raises(TorchFileError, match=message), TorchFile(path, 2 * MOST_BYTES) as file:
        assert isinstance(file.content, StoredTensor)
        dict(file.read({"name": file.content}))
    assert tracemalloc.get_traced_memory()[1] < 100 << 20
    tracemalloc.stop()


def test_numbers_of_one_hash_are_read_in_linear_time(tmp_path: Path) -> None:
    keys = (b"\x8a\x10" + (n * sys.hash_info.modulus).to_bytes(16, "little") + b"N" for n in range(1, 30_000))
    with quick("keys of one hash"):
        TorchFile(written(tmp_path / "file.pth", b"\x80\x02}(" + b"".join(keys) + b"u."), MOST_BYTES).close()


def test_a_storage_is_read_once_for_each_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.save({"half": torch.zeros(8).half(), "float": torch.zeros(4)}, tmp_path / "file.pth")
    reads = []
    with TorchFile(tmp_path / "file.pth", MOST_BYTES) as file:
        half, floats = file.content["half"], replace(file.content["float"], key=file.content["half"].key)
        read = file._read
        monkeypatch.setattr(file, "_read", lambda name, size: reads.append(name) or read(name, size))
        assert len(dict(file.read({f"{n}": half if n % 2 else floats for n in range(20)}))) == 20
    assert len(reads) == 2


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_compressed_archive_is_refused(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "file.pth", "w", method) as archive:
        archive.writestr("model/data.pkl", bytes(1 << 25))
    with pytest.raises(TorchFileError, match="compressed"):
        TorchFile(tmp_path / "file.pth", MOST_BYTES)


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"model/DATA.PKL": b""}, "two of its entries have one name"),
        ({"other/data.pkl": b""}, "several folders"),
        ({"model/byteorder": b"big"}, "not little-endian"),
        (dict.fromkeys(("model/" + str(n) * 1000 for n in range(2000)), b""), "archive of torch"),
    ],
)
def test_an_archive_that_torch_does_not_write_is_refused(
    added: dict[str, bytes], message: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "file.pth", b"\x80\x02N.")
    with zipfile.ZipFile(path, "a") as archive:
        for name, content in added.items():
            archive.writestr(name, content)
    with pytest.raises(TorchFileError, match=message):
        TorchFile(path, 32 * MOST_BYTES)


def test_a_changed_number_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = tmp_path / "file.pth"
    torch.save(torch.arange(1000.0), path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(TorchFileError, match="Bad CRC-32"), TorchFile(path, MOST_BYTES) as file:
        dict(file.read({"name": file.content}))
