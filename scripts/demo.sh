#!/usr/bin/env bash
# With a display, you are the person at the window. Without one, a person with a
# real X mouse sits at a display of their own, and pictures are left in demo-out/.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]; then
	exec ./sallyport demo
fi
exec go run ./scripts/demoperson ./sallyport demo-out
