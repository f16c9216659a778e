#!/bin/bash
# Makes images/read.png: a real Neovim, typed at in a terminal, with its screen drawn by xterm.js. It never reads the user's own configuration, and nothing in the picture is painted by hand.
# usage: make.sh [PNG]   (PILCROW_BIN names the daemon, else target/ is looked at)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
plugin=$(cd "$here/../.." && pwd)
repository=$(cd "$plugin/../.." && pwd)
picture=${1:-$plugin/images/read.png}
columns=114 rows=35

if [ -z "${PILCROW_BIN:-}" ]; then
  for built in release debug; do
    PILCROW_BIN="$repository/target/$built/pilcrow"
    [ ! -x "$PILCROW_BIN" ] || break
  done
fi
if [ ! -x "$PILCROW_BIN" ]; then
  echo "There is no pilcrow: build it with 'cargo build', or name it in PILCROW_BIN." >&2
  exit 2
fi

# shellcheck source=../../../setup-neovim.sh
. "$repository/editors/setup-neovim.sh"
nvim=$(pilcrow_neovim)
tools=$("$repository/editors/setup-vscode.sh")
# shellcheck disable=SC1091
. "$tools/env"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/drawing"
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$scratch/drawing" \
  @xterm/xterm@6.0.0 @fontsource/jetbrains-mono@5.2.8
python3 -m venv "$scratch/python"
"$scratch/python/bin/pip" install --quiet --disable-pip-version-check "pillow==12.0.0"

cp -r "$here/project" "$scratch/project"
mkdir "$scratch/project/.git"
ln -s "$(realpath "$PILCROW_BIN")" "$scratch/bin/pilcrow"
(
  export PATH="$scratch/bin:$PATH" PILCROW_PLUGIN="$plugin" HOME="$scratch/home"
  export XDG_CONFIG_HOME="$scratch/config" XDG_DATA_HOME="$scratch/data" XDG_STATE_HOME="$scratch/state" XDG_CACHE_HOME="$scratch/cache"
  mkdir "$HOME"
  cd "$scratch/project"
  "$scratch/python/bin/python" "$here/record.py" "$columns" "$rows" "$scratch/screen" \
    "$nvim" -n -i NONE -u "$here/init.lua" src/jobs.py
)
node "$here/draw.mjs" "$tools" "$scratch/drawing" "$scratch/screen" "$columns" "$rows" "$scratch/drawn.png"

mkdir -p "$(dirname "$picture")"
"$scratch/python/bin/python" - "$scratch/drawn.png" "$picture" <<'END_OF_PYTHON'
import sys
from PIL import Image
drawn = Image.open(sys.argv[1]).convert("RGB")
# The 64 commonest colours as they are; a quantizer would shift the background.
commonest = sorted(drawn.getcolors(1 << 24), reverse=True)[:64]
palette = Image.new("P", (1, 1))
palette.putpalette([channel for _, colour in commonest for channel in colour])
drawn.quantize(palette=palette, dither=Image.Dither.NONE).save(sys.argv[2], optimize=True)
END_OF_PYTHON
bytes=$(wc -c <"$picture")
echo "$picture: $bytes bytes"
[ "$bytes" -lt 120000 ]
