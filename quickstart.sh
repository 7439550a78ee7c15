#!/bin/sh
# SPDX-License-Identifier: MIT
# From a bare Debian 12 (or a derivative) to a replayed real program: installs what is missing,
# builds here, in the source tree, and runs clpool's main job. Running it again is quick and safe.
set -eu

usage() {
  cat <<END
usage: ./quickstart.sh [--install-only [PACKAGE...] | --no-install | --packages]

  --install-only   install the packages and each PACKAGE, then stop
  --no-install     install nothing; the packages must be there, under any name
  --packages       print the Debian packages that clpool needs
END
}

# What bootstraps, builds, tests and runs clpool.
packages="build-essential autoconf automake libtool pkg-config check zlib1g-dev libdw-dev"
packages="$packages ocl-icd-opencl-dev opencl-headers pocl-opencl-icd"

cd "$(dirname "$0")"
log=$PWD/quickstart.log
trace=examples/data/resnet50_train.csv.gz

say() { printf '\n==> %s\n' "$*"; }
die() { echo "quickstart.sh: $*" >&2; exit 1; }

# quietly COMMAND...: its output goes to the log, and to the terminal only if it fails.
quietly() {
  echo "+ $*" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null || {
    tail -n 30 "$log" >&2
    die "'$*' failed; its output is in $log"
  }
}

missing_packages() {
  for package in $packages; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf ' %s' "$package"
  done
}

# as_root COMMAND...: as it is for root, through sudo for others.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    quietly "$@"
  elif command -v sudo >/dev/null; then
    sudo -v || die "sudo refused; have these installed, then run again:$missing"
    quietly sudo "$@"
  else
    die "neither root nor sudo; have these installed, then run again:$missing"
  fi
}

install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    die "apt-get is missing; install what Debian calls $packages, then run" \
      "./quickstart.sh --no-install"
  fi
  missing=$(missing_packages)
  if [ -z "$missing" ]; then
    say "Packages: all are installed"
    return
  fi
  say "Packages: installing$missing"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
  # shellcheck disable=SC2086 # a list of packages
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qy --no-install-recommends install $missing
}

build() {
  jobs=$(nproc 2>/dev/null || echo 1)
  if [ ! -e configure ] || [ ! -e Makefile.in ]; then
    say "Bootstrap: autoreconf"
    quietly autoreconf -fi
  fi
  if [ ! -e config.status ] || [ ! -e Makefile ]; then
    say "Configure"
    quietly ./configure
  fi
  say "Build, $jobs jobs"
  quietly make -j"$jobs"
}

# show COMMAND...: what a user would type, and what comes of it.
show() {
  printf '\n$ %s\n' "$*"
  "$@" || die "'$*' failed"
}

main_job() {
  # PoCL compiles kernels into this directory, which must be writable.
  POCL_CACHE_DIR=${POCL_CACHE_DIR:-$PWD/pocl-cache}
  export POCL_CACHE_DIR
  # shellcheck source=tests/support/no_sysfs.sh
  . tests/support/no_sysfs.sh

  say "The OpenCL devices of this machine"
  show tools/clpool info

  say "An array program: each temporary from the driver, then from a pool"
  show examples/array_expressions

  say "Every allocation of a ResNet-50 training step, with a pool and without"
  show tools/clpool replay "$trace" --allocator=cl-immediate --scale=auto --compare

  say "The best setting of a pool for that training step on a GPU"
  show tools/clpool tune "$trace"
}

case ${1-} in
  '' | --no-install | --install-only) ;;
  --packages) echo "$packages"; exit ;;
  --help | -h) usage; exit ;;
  *) usage >&2; exit 2 ;;
esac

: >"$log"
case ${1-} in
  --no-install) ;;
  --install-only)
    shift
    packages="$packages $*"
    install_packages
    exit
    ;;
  *) install_packages ;;
esac
build
main_job
say "Done. 'make check' runs the tests, 'tools/clpool --help' and README.md show what to do next"
