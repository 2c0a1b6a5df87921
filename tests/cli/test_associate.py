"""`ozx associate` as a user meets it."""

import json

import jsonschema
import pytest
from commands import command, schema_of

from ozx.desktop.association.associate import associate, association_status, dissociate

pytestmark = pytest.mark.posix("plays Linux")

SCHEMA = schema_of("associate")
call = command("associate")


def screen(home, programs):
    share = home / ".local" / "share"
    return f"""\
write    {share}/mime/packages/ozx-toolkit.xml
write    {share}/icons/hicolor/48x48/mimetypes/application-vnd.ome.zarr+zip.png
write    {share}/icons/hicolor/256x256/mimetypes/application-vnd.ome.zarr+zip.png
write    {share}/icons/hicolor/scalable/mimetypes/application-vnd.ome.zarr+zip.svg
write    {share}/applications/ozx-toolkit.desktop
write    {share}/thumbnailers/ozx-toolkit.thumbnailer
write    {share}/Thunar/sendto/ozx-toolkit-convert.desktop
write    {share}/kio/servicemenus/ozx-toolkit-convert.desktop
write    {share}/file-manager/actions/ozx-toolkit-convert.desktop
write    {share}/nemo/actions/ozx-toolkit-convert.nemo_action
write    {share}/nautilus/scripts/Convert to .ozx
write    {home}/.config/caja/scripts/Convert to .ozx
run      touch -c {share}/icons/hicolor
run      update-mime-database {share}/mime
run      xdg-mime default ozx-toolkit.desktop application/vnd.ome.zarr+zip
.ozx files open with: {programs}/ozx-open FILE
to remove it: ozx associate --remove
"""


def test_what_is_done_and_how_to_undo_it(home, programs, capsys):
    assert call(capsys) == (0, screen(home, programs), "")
    again = f".ozx files open with: {programs}/ozx-open FILE\nnothing to change\n"
    assert call(capsys) == (0, again, "")
    code, out, err = call(capsys, "--remove")
    assert (code, err) == (0, "")
    assert out.endswith("\nozx associate has been removed\n")
    assert call(capsys, "--remove") == (0, "nothing to remove\n", "")
    assert not list(home.rglob("*ozx-toolkit*"))


def test_a_dry_run_lists_all_and_does_nothing(home, programs, capsys):
    code, out, err = call(capsys, "--dry-run", "--viewer", "sh -x")
    assert (code, err) == (0, "")
    expected = screen(home, programs).partition(".ozx files open")[0]
    assert out == f"{expected}dry run, nothing changed\n"
    assert list(home.iterdir()) == []
    call(capsys)
    code, out, _ = call(capsys, "--remove", "--dry-run")
    assert code == 0
    assert "delete   " in out
    assert (home / ".config").exists()


def test_the_status(home, programs, capsys):
    unknown = (
        "type of .ozx files  none\n"
        "opened by           no known program\n"
        "set by ozx          no\n"
        '"Convert to .ozx"   no\n'
        "to open them with ozx view: ozx associate\n"
    )
    assert call(capsys, "--status") == (0, unknown, "")
    call(capsys)
    known = (
        "type of .ozx files  application/vnd.ome.zarr+zip\n"
        "opened by           ozx-toolkit.desktop\n"
        f"command             {programs}/ozx-open %f\n"
        "set by ozx          yes\n"
        f'"Convert to .ozx"   {programs}/ozx-convert %F\n'
    )
    assert call(capsys, "--status") == (0, known, "")
    (programs / "ozx-open").unlink()
    note = "note: the program of ozx-toolkit.desktop no longer exists: run ozx associate again\n"
    assert call(capsys, "--status") == (0, known, note)


def test_json_is_what_the_library_returns(home, capsys):
    expected = associate(dry_run=True).to_dict()
    for arguments, result in (
        (["--dry-run"], expected),
        ([], None),
        (["--status"], association_status),
        (["--remove", "--dry-run"], lambda: dissociate(dry_run=True)),
        (["--remove"], None),
    ):
        code, out, _ = call(capsys, *arguments, "--json")
        assert code == 0
        answer = json.loads(out)
        jsonschema.validate(answer, SCHEMA)
        if result is not None:
            assert answer == (result if isinstance(result, dict) else result().to_dict())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--viewer", "no-such-viewer"], "found no 'no-such-viewer'\nhint: Give its full path"),
        (["--viewer", "sh", "--remove"], "--viewer and --remove cannot be combined"),
        (["--status", "--remove"], "--status cannot be combined"),
        (["--status", "--dry-run"], "--status cannot be combined"),
        (["cells.ozx"], "unexpected extra argument"),
    ],
)
def test_a_wrong_command_line_ends_with_2(home, capsys, arguments, message):
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert list(home.iterdir()) == []


def test_a_missing_program_ends_with_4(home, programs, program, capsys):
    program(programs / "update-mime-database", "#!/bin/sh\necho no room >&2\nexit 1\n")
    code, out, err = call(capsys)
    assert (code, out) == (4, "")
    assert err.startswith("error: update-mime-database ")
    assert err.endswith("failed: no room\n")
