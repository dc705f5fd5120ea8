#!/usr/bin/env bash
# Runs every fuzz target for a while: scripts/fuzz.sh 5s
set -euo pipefail
cd "$(dirname "$0")/.."
for_each=${1:-5s}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | while read -r file; do
	dir=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z0-9]+' "$file" | sed 's/^func //' | while read -r target; do
		echo "fuzz $dir $target"
		if ! said=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$for_each" -fuzzminimizetime 1s "$dir" </dev/null 2>&1); then
			printf '%s\n' "$said"
			exit 1
		fi
	done
done
