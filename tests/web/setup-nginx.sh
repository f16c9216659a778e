#!/usr/bin/env bash
# Installs the web server that the long form of tests/web/nginx.rs reads from.
set -euo pipefail
if ! command -v nginx > /dev/null; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends nginx-light
fi
nginx -v
