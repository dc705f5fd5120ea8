#!/usr/bin/env bash
# Installs what the demo and the tests need: Chromium, a display to show it on, a
# small window manager, and a mouse. Does nothing when all is there.
set -euo pipefail

missing=()
need() { # program, Debian package
	command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}
command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium)
need Xvfb xvfb
need openbox openbox
need xdotool xdotool
need import imagemagick
need xprop x11-utils
[ -d /usr/share/fonts/truetype/dejavu ] || missing+=(fonts-dejavu-core)
command -v gcc >/dev/null 2>&1 || missing+=(gcc libc6-dev) # for go test -race

if ! command -v go >/dev/null 2>&1; then
	echo "Go is missing: install Go 1.26 or newer, then run this again." >&2
	exit 1
fi
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "Missing: ${missing[*]} (Debian's names). Install them with your system's package manager, then run this again." >&2
	exit 1
fi
. /etc/os-release
if [ "${ID:-}" = ubuntu ] && [[ " ${missing[*]} " == *" chromium "* ]]; then
	echo "Ubuntu's chromium package is a snap, which can't be driven from here." >&2
	echo "Install Google Chrome's .deb, or Chromium from a .deb repository, then run this again." >&2
	exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || { echo "Missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2; exit 1; }
	sudo=(sudo)
fi
echo "Installing: ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
