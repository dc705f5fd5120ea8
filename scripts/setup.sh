#!/usr/bin/env bash
# Installs what the demo and the tests need: Chromium, a display to show it on, a
# small window manager, and a mouse. Does nothing when all is there.
set -euo pipefail

# A snap can't be driven: it may not read a profile or a pipe of another program.
# Ubuntu's chromium-browser is a script that starts one.
is_snap() {
	local real
	real=$(readlink -f "$1")
	case "$real" in
	/snap/* | */snap) return 0 ;;
	esac
	head -c 4096 "$real" | tr -d '\0' | grep -q '^#!.*sh' && head -c 4096 "$real" | grep -q '/snap/bin/'
}

missing=()
need() { # program, Debian package
	command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

# The names, and their order, are those of chrome/path.go.
chromium=""
snap=""
for name in chromium chromium-browser google-chrome-stable google-chrome chrome; do
	path=$(command -v "$name" 2>/dev/null) || continue
	if is_snap "$path"; then
		snap=$path
	else
		chromium=$path
	fi
	break
done
[ -n "$chromium" ] || missing+=(chromium)
need Xvfb xvfb
need openbox openbox
need xdotool xdotool
need import imagemagick
need xprop x11-utils
if command -v apt-get >/dev/null 2>&1 && [ ! -d /usr/share/fonts/truetype/dejavu ]; then missing+=(fonts-dejavu-core); fi # elsewhere fonts are in other places
if ! command -v gcc >/dev/null 2>&1; then missing+=(gcc libc6-dev); fi # for go test -race

if ! command -v go >/dev/null 2>&1; then
	echo "Go is missing: install Go 1.26 or newer, then run this again." >&2
	exit 1
fi
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
if [ -n "$snap" ]; then
	echo "$snap is a snap, which can't be driven from here, and hides another Chromium." >&2
	echo "Remove it (sudo snap remove chromium), install Google Chrome's .deb package, then run this again." >&2
	exit 1
fi
if ! command -v apt-get >/dev/null 2>&1; then
	echo "Missing: ${missing[*]} (Debian's names). Install them with your system's package manager, then run this again." >&2
	exit 1
fi
if [ -z "$chromium" ] && [ "$(. /etc/os-release && echo "${ID:-}")" = ubuntu ]; then
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
