"""What paths, URLs and node URIs name."""

import pytest

from ozx.errors import UsageError
from ozx.places.place import (
    Place,
    check_is_list,
    given_path,
)


def parse(text, files=(), directories=(), *, windows=False):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.path.isfile", lambda path: path in files)
        patch.setattr("os.path.isdir", lambda path: path in directories)
        return Place.parse(text, windows=windows)


@pytest.mark.parametrize(
    ("text", "path", "node"),
    [
        ("ozx:///d/x.ozx", "/d/x.ozx", ""),
        ("ozx:///d/x.ozx/", "/d/x.ozx", ""),
        ("ozx:///d/x.ozx/0", "/d/x.ozx", "0"),
        ("ozx:///d/x.ozx/labels/cells", "/d/x.ozx", "labels/cells"),
        ("ozx:///d/x.ozx/labels/cells/", "/d/x.ozx", "labels/cells"),
        ("ozx:///d/X.OZX/0", "/d/X.OZX", "0"),
        ("ozx:///d/x.ome.zarr.zip/0", "/d/x.ome.zarr.zip", "0"),
        # The first component that ends so ends the file: what is below it is inside, whatever it is called.
        ("ozx:///d/x.ozx/y.ozx", "/d/x.ozx", "y.ozx"),
        ("ozx:///x.ozx.d/y.ozx/0", "/x.ozx.d/y.ozx", "0"),
        # Percent-encoding is decoded, and what need not be encoded in a path may stand as it is.
        ("ozx:///my%20d/a%23b%3Fc%25.ozx/z%C3%A9", "/my d/a#b?c%.ozx", "zé"),
        ("ozx:///my d/a#b?c.ozx/zé", "/my d/a#b?c.ozx", "zé"),
        ("ozx:///d/x%7Czip.ozx/0", "/d/x|zip.ozx", "0"),
        ("ozx:///d/100%.ozx/5%", "/d/100%.ozx", "5%"),
        ("ozx:///d/%ff.ozx/0", "/d/\udcff.ozx", "0"),
        ("x.ozx|zip:labels/cells/", "x.ozx", "labels/cells"),
        ("d/x.ozx|zip:labels/cells", "d/x.ozx", "labels/cells"),
        ("x.ozx|zip:/0", "x.ozx", "0"),
        ("x.ozx|zip:", "x.ozx", ""),
        ("x.ozx|zip:0/|zarr3:", "x.ozx", "0"),
        ("x.ozx|zip:|zarr3:", "x.ozx", ""),
        ("my%20x.ozx|zip:a%20b/", "my%20x.ozx", "a b"),
        ("file:///d/my%20x.ozx|zip:0/", "/d/my x.ozx", "0"),
        ("https://h/x.ozx|zip:labels/cells/", "https://h/x.ozx", "labels/cells"),
        ("https://h/my%20x.ozx?sig=a%2Fb|zip:0/", "https://h/my%20x.ozx?sig=a%2Fb", "0"),
        ("s3://bucket/x.ozx|zip:0/", "s3://bucket/x.ozx", "0"),
        ("no-ending|zip:0/", "no-ending", "0"),
        # Not ours to take apart.
        ("x.ozx", "x.ozx", ""),
        ("x.ozx/0", "x.ozx/0", ""),
        ("a|b.ozx", "a|b.ozx", ""),
        ("a|tar:b.ozx", "a|tar:b.ozx", ""),
        ("ozx:/d/x.ozx", "ozx:/d/x.ozx", ""),
        ("https://h/x.ozx", "https://h/x.ozx", ""),
        ("https://h/x.ozx/labels", "https://h/x.ozx", "labels"),
        ("https://h/x.OZX/a%20b/0/?sig=c/d", "https://h/x.OZX?sig=c/d", "a b/0"),
        ("https://h/x.ozx/", "https://h/x.ozx/", ""),
        ("file:///d/x%20.ozx", "/d/x .ozx", ""),
        ("file://localhost/d/x.ozx", "/d/x.ozx", ""),
    ],
)
def test_what_names_what(text, path, node):
    assert parse(text) == Place(path, node)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ozx://x.ozx/0", "three slashes"),
        ("ozx://", "three slashes"),
        ("ozx://host/d/x.ozx", "three slashes"),
        ("ozx:///", "the path of an archive"),
        ("ozx:///d/cells/0", "the path of an archive"),
        ("ozx:///d/x.ozx/a/../b", "found '..'"),
        ("ozx:///d/x.ozx/..", "found '..'"),
        ("ozx:///d/x.ozx/%2e%2e/b", "found '..'"),
        ("ozx:///d/x.ozx/./b", "found '.'"),
        ("ozx:///d/x.ozx/.../b", "found '...'"),
        ("ozx:///d/x.ozx//b", "found ''"),
        ("ozx:///d/x.ozx/a//b", "found ''"),
        ("ozx:///d/x.ozx/a%00b", "NUL characters"),
        ("ozx:///d/x.ozx/0|zip:1", "found both"),
        ("x.ozx|zip:../b", "found '..'"),
        ("x.ozx|zip:a//b", "found ''"),
        ("x.ozx|zip:a//", "found ''"),
        ("x.ozx|zip:0|zip:1", "|zarr3:"),
        ("x.ozx|zip:0|zarr3:1", "|zarr3:"),
        ("|zip:0", "found nothing"),
        ("file://elsewhere/d/x.ozx|zip:0", "found one on elsewhere"),
        ("file://elsewhere/d/x.ozx", "found one on elsewhere"),
    ],
)
def test_what_names_nothing(text, message):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert message in caught.value.message
    assert text.startswith(caught.value.path)
    assert caught.value.path
    assert caught.value.hint


def test_a_directory_may_be_called_like_an_archive():
    directories = ["/d", "/d/a.ozx"]
    assert parse("ozx:///d/a.ozx/b.ozx/0", directories=directories) == Place("/d/a.ozx/b.ozx", "0")
    assert parse("ozx:///d/a.ozx/0", files=["/d/a.ozx/0"], directories=directories) == Place("/d/a.ozx/0", "")
    with pytest.raises(UsageError, match="the path of an archive"):
        parse("ozx:///d/a.ozx/0", directories=directories)


def test_a_node_of_a_directory_is_refused():
    with pytest.raises(UsageError, match="found a directory") as caught:
        parse("d.ome.zarr|zip:0/", directories=["d.ome.zarr"])
    assert "sub-directory" in caught.value.hint
    with pytest.raises(UsageError, match="found a directory"):
        parse("ozx:///d.ome.zarr/0", directories=["/d.ome.zarr", "/d.ome.zarr/0"])


def test_drives_of_windows():
    assert parse("ozx:///C:/d/x.ozx/0", windows=True) == Place("C:\\d\\x.ozx", "0")
    assert parse("file:///C:/d/x.ozx", windows=True) == Place("C:\\d\\x.ozx", "")
    assert parse("C:/d/x.ozx", windows=True) == Place("C:/d/x.ozx", "")
    assert parse("C:\\d\\x.ozx|zip:0/", windows=True) == Place("C:\\d\\x.ozx", "0")
    assert parse("ozx:///C:/d/x.ozx/0") == Place("/C:/d/x.ozx", "0")
    assert not Place("C:/d/x.ozx").is_remote


@pytest.mark.posix("paths without a drive")
@pytest.mark.parametrize(
    ("text", "node", "given", "address"),
    [
        ("/d/x.ozx", "A/1/0", "/d/x.ozx/A/1/0", "file:///d/x.ozx|zip:A/1/0/|zarr3:"),
        ("/d/x.ozx/A", "/1/", "/d/x.ozx/A/1", "file:///d/x.ozx|zip:A/1/|zarr3:"),
        ("/d/x.ozx|zip:A/|zarr3:", "1", "/d/x.ozx|zip:A/1/", "file:///d/x.ozx|zip:A/1/|zarr3:"),
        ("ozx:///d/x.ozx/A", "1", "/d/x.ozx|zip:A/1/", "file:///d/x.ozx|zip:A/1/|zarr3:"),
        ("https://h/x.ozx?sig=s", "A", "https://h/x.ozx?sig=s|zip:A/", "https://h/x.ozx|zip:A/|zarr3:"),
        ("/d/x.ome.zarr/|zarr3:", "A/1", "/d/x.ome.zarr/A/1", "file:///d/x.ome.zarr/A/1/|zarr3:"),
    ],
)
def test_a_node_below_a_place(text, node, given, address):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.path.isfile", lambda path: path == "/d/x.ozx")
        patch.setattr("os.path.isdir", lambda path: ".zarr" in path and "|" not in path)
        place = Place.parse(text, node)
        assert (place.given, place.address()) == (given, address)
        assert Place.parse(place.given) == place


@pytest.mark.parametrize("node", ["..", "A//1", 3, None])
def test_what_is_no_path_of_a_node(node):
    with pytest.raises(UsageError, match="expected"):
        Place.parse("x.ozx", node)


@pytest.mark.posix("paths without a drive")
@pytest.mark.parametrize(
    ("location", "uri"),
    [
        (Place("/d/x.ozx"), "ozx:///d/x.ozx"),
        (Place("/d/x.ozx", "labels/cells"), "ozx:///d/x.ozx/labels/cells"),
        (Place("/my d/a#b?c%|.ozx", "zé%"), "ozx:///my%20d/a%23b%3Fc%25%7C.ozx/z%C3%A9%25"),
        (Place("/d/\udcff.ozx", "0"), "ozx:///d/%FF.ozx/0"),
        (Place("https://h/my%20x.ozx", "a b"), "https://h/my%20x.ozx|zip:a%20b/"),
        (Place("s3://b/x.ozx"), "s3://b/x.ozx|zip:"),
    ],
)
def test_the_canonical_uri_leads_back(location, uri):
    assert location.uri == uri
    assert parse(uri) == location


def test_a_url_is_not_local():
    with pytest.raises(UsageError, match="found a URL") as caught:
        Place.local("https://h/x.ozx?sig=secret")
    assert caught.value.path == "https://h/x.ozx"
    assert "Download" in caught.value.hint


def test_bytes_are_no_path():
    message = r"^expected a path as a text; got b'x\.ozx'$"
    for function in (given_path, Place.output, Place.local, Place.parse):
        with pytest.raises(UsageError, match=message) as caught:
            function(b"x.ozx")
        assert "os.fsdecode" in caught.value.hint
    with pytest.raises(UsageError, match=r"expected a list of sources; got the path b'x\.ozx'"):
        check_is_list(b"x.ozx", "ozx.pack")


@pytest.mark.parametrize("text", ["a\0", ""])
def test_a_place_has_a_path(text):
    for function in (Place.output, Place.local, Place.parse):
        with pytest.raises(UsageError, match="expected a path"):
            function(text)


def test_messages_keep_signatures_to_themselves():
    with pytest.raises(UsageError) as caught:
        parse("https://h/x.ozx?sig=secret|zip:..")
    assert "secret" not in str(caught.value)
    assert Place("ozx:///d/a?b.ozx").name == "ozx:///d/a?b.ozx"
