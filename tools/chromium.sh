#!/bin/sh
# The browser of the tests in tests/web: installed where the system lets us, otherwise named.
set -eu
[ -n "${CHROMIUM:-}" ] && exit 0
command -v chromium >/dev/null 2>&1 && exit 0
command -v chromium-browser >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium for the browser tests…"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 && exit 0
fi
echo "The browser tests need Chromium. Install it, then run this again:" >&2
echo "    sudo apt-get install chromium        (Debian, Ubuntu)" >&2
echo "    sudo dnf install chromium            (Fedora)" >&2
echo "or name one that you have: CHROMIUM=/path/to/chromium make test" >&2
exit 1
