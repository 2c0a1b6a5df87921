"""Codecs that are not installed: a note of validate, and an error of the verbs that names the package."""

import json

import pytest
from every_verb import answer_of, arguments_of, images, write_hierarchy
from numcodecs.errors import UnknownCodecError

import ozx
from ozx.codecs.zarr_errors import missing_codec, words_of

ZFPY = {"name": "numcodecs.zfpy", "configuration": {"mode": 4, "tolerance": 0.1}}
PCODEC = {"name": "numcodecs.pcodec", "configuration": {"level": 8}}


def hierarchy(folder, codec):
    values = images()[0]
    document = json.loads(values["0/zarr.json"]) | {"codecs": [codec], "data_type": "float32", "fill_value": 0.0}
    return write_hierarchy(values | {"0/zarr.json": json.dumps(document).encode()}, folder, archive=True)


@pytest.mark.parametrize(("codec", "package"), [(ZFPY, "zfpy"), (PCODEC, "pcodec")])
def test_a_codec_that_is_not_installed_is_no_damage(tmp_path, codec, package):
    pytest.importorskip("zarr.codecs.numcodecs")
    report = ozx.validate(hierarchy(tmp_path, codec), level="data")
    assert report.valid
    (note,) = (found for found in report.findings if found.id == "zarr/not-decoded")
    assert f"need the codec {package}, which is not installed" in note.message
    assert note.hint == f"Install it: pip install {package}."
    for verb in ("export", "thumbnail"):
        code, told = answer_of(arguments_of(verb, tmp_path, archive=True))
        assert code == 1
        assert f"need the codec {package}, which is not installed [zarr/not-decoded]\n" in told
        assert f"hint: Install it: pip install {package}.\n" in told


def test_nobody_is_told_to_install_a_codec_for_a_damaged_document(tmp_path):
    path = write_hierarchy(images()[0], tmp_path, archive=True)
    path.write_bytes(path.read_bytes().replace(b'"shape": [2, 8, 8]', b'"shape": [2, 8, 9]', 1))
    report = ozx.validate(path, level="data")
    assert not report.valid
    assert not [found.hint for found in report.findings if "codec" in found.hint]


def test_the_name_is_found_whatever_wraps_the_error():
    for error in (UnknownCodecError("zfpy"), UnknownCodecError("'zfpy'")):
        wrapped = ValueError("0/c/0: damaged")
        wrapped.__cause__ = error
        assert "the codec zfpy" in str(missing_codec(wrapped, "0"))
    assert missing_codec(ValueError("codec"), "0") is None


def test_python_is_not_quoted():
    assert "operand" not in words_of(TypeError("unsupported operand type(s) for |: 'str' and 'dict'"))
    assert words_of(ValueError("no such\ntype")) == "no such"
