"""Make two DLLs that Wine 8 lacks, beside Windows' Python: ``python3 dlls.py FOLDER``.

Wine's ``ucrtbase.dll`` has only stubs of C's complex functions, which numpy calls. The new one has them, by MinGW's
library, and forwards all other functions to a copy of Wine's. ``bcryptprimitives.dll`` gives programs written in Rust
their random numbers.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

TOOLS = "x86_64-w64-mingw32-"
#: The marker by which Wine tells its own DLLs, whatever their names; it would load this copy as the original.
BUILTIN = b"Wine builtin DLL"
REAL = ("cabs", "carg", "cimag", "creal")
COMPLEX = ["conj", "cproj", "csqrt", "cexp", "clog", "cpow"]
COMPLEX += [f"c{arc}{name}{kind}" for arc in ("", "a") for name in ("sin", "cos", "tan") for kind in ("", "h")]
RANDOM = """
unsigned char __stdcall SystemFunction036(void *buffer, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *buffer, unsigned long long length)
{
    return SystemFunction036(buffer, (unsigned long)length);
}
"""


def main() -> None:
    folder = Path(sys.argv[1])
    (wines,) = Path("/usr/lib").glob("*/wine/x86_64-windows/ucrtbase.dll")
    (folder / "ucrtreal.dll").write_bytes(wines.read_bytes().replace(BUILTIN, bytes(len(BUILTIN)), 1))
    source, own = ["#include <complex.h>"], []
    for name in (*REAL, *COMPLEX):
        for end, number in (("", "double"), ("f", "float")):
            takes = [f"{number} _Complex {letter}" for letter in ("ab" if name == "cpow" else "a")]
            gives = number if name in REAL else f"{number} _Complex"
            gets = ", ".join(each[-1] for each in takes)
            source.append(f"{gives} own_{name}{end}({', '.join(takes)}) {{ return {name}{end}({gets}); }}")
            own.append(name + end)
    exports = [f"{name} = own_{name}" for name in own]
    exports += [f"{name} = ucrtreal.{name}" for name in exported(wines) if name not in own]
    compile_dll(folder / "ucrtbase.dll", "\n".join(source), "\n".join(["EXPORTS", *exports]))
    compile_dll(folder / "bcryptprimitives.dll", RANDOM)


def exported(library: Path) -> list[str]:
    """Return the names of the functions of a DLL."""
    told = subprocess.run([f"{TOOLS}objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    table = told.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return re.findall(r"\[ *\d+\].* (\S+)$", table, re.MULTILINE)


def compile_dll(path: Path, source: str, definition: str = "") -> None:
    """Compile a DLL; `definition` lists what it exports."""
    with TemporaryDirectory() as folder:
        code, exports = Path(folder, "code.c"), Path(folder, "exports.def")
        code.write_text(source + "\n")
        exports.write_text(definition + "\n")
        given = [code, *[exports] * bool(definition), "-ladvapi32"]
        subprocess.run([f"{TOOLS}gcc", "-O2", "-shared", "-static-libgcc", "-o", path, *given], check=True)


main()
