# The two commands on a fresh Debian or Ubuntu machine with Go are `make demo`
# and `make test`. Each installs what it needs; that needs root or sudo.

VERSION := $(shell git describe --always --dirty 2>/dev/null || echo dev)

.PHONY: demo test test-long ways-out url-differences build check bench fuzz install setup clean

demo: setup build
	./scripts/demo.sh

test: setup check
	CI=true go test -race -p 2 -timeout 8m ./...
	./scripts/fuzz.sh 4s

# Besides make test: the whole corpus of ways out, through both gates and through
# each alone, the table of it, and 5,000 navigations in one browser. About 35 minutes
# on 2 cores.
test-long: setup check
	SALLYPORT_TEST_LONG=1 CI=true go test -race -p 1 -timeout 80m ./...

# Writes docs/ways-out.md anew.
ways-out: setup
	SALLYPORT_TEST_LONG=1 CI=true go test -count=1 -timeout 30m -run TestNothingGetsOut . -args -update

# Writes docs/url-differences.md anew.
url-differences: setup
	SALLYPORT_TEST_LONG=1 CI=true go test -count=1 -run TestNoURLIsReadOtherwiseThanByChromium . -args -update

setup:
	@./scripts/setup.sh

build:
	go build -ldflags "-X main.version=$(VERSION)" -o sallyport .

check:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi
	go vet ./...
	go mod tidy -diff

bench:
	go test -run '^$$' -bench . -benchmem ./gate ./certs ./ledger ./proxy

fuzz:
	./scripts/fuzz.sh 60s

install:
	go install -ldflags "-X main.version=$(VERSION)" .

clean:
	rm -rf sallyport demo-out
