"""Prints the NOTICE files of the packages that `cargo metadata` on stdin lists: the Apache licence wants them passed on."""

import collections
import json
import pathlib
import sys

names = collections.defaultdict(list)
for package in json.load(sys.stdin)["packages"]:
    for notice in pathlib.Path(package["manifest_path"]).parent.glob("NOTICE*"):
        names[notice.read_text().strip()].append(f"{package['name']} {package['version']}")
for text, packages in sorted(names.items(), key=lambda item: sorted(item[1])):
    print(f"\n{'=' * 80}\nNotice of {', '.join(sorted(packages))}\n\n{text}")
