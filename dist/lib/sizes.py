"""The sizes of packages, as they are and unpacked; fails where a wheel or what is in it is larger than we want users to have.

    sizes.py FILE...
"""

import pathlib
import sys
import tarfile
import zipfile

WHEEL, UNPACKED = 22_000_000, 98_000_000


def unpacked(file):
    if file.suffix in (".whl", ".vsix"):
        with zipfile.ZipFile(file) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    with tarfile.open(file) as archive:
        return sum(entry.size for entry in archive)


failed = False
for file in map(pathlib.Path, sys.argv[1:]):
    size, whole = file.stat().st_size, unpacked(file)
    is_large = whole > UNPACKED or (file.suffix == ".whl" and size > WHEEL)
    failed |= is_large
    print(f"{size:>11,} {whole:>12,} unpacked  {file.name}{'  TOO LARGE' if is_large else ''}")
sys.exit(failed)
