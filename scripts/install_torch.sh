#!/bin/sh
# Installs torch, and says before it starts what that downloads. A CUDA build is taken only where a GPU is
# or where a person says so: on PyPI, torch for Linux comes with 3 GB of libraries that a CPU has no use for.
#     scripts/install_torch.sh PIP INSTALL...      # the command that `torch` is added to
# TORCH_INDEX=URL  an index that has CPU builds, asked beside pip's own
# TORCH=any        take the build that pip picks, without a question
set -eu
[ -z "${TORCH_INDEX:-}" ] || set -- "$@" --extra-index-url "$TORCH_INDEX"
plan=$("$@" --dry-run --report - torch)
case $plan in
*'"name": "nvidia-'* | *'"name": "cuda-'*) build=CUDA ;;
*'"name": "torch"'*) build=CPU ;;
*) exit 0 ;; # it is there
esac
if [ $build = CPU ]; then
  echo "torch: the build that your pip knows has no CUDA; it downloads about 0.2 GB"
elif [ "${TORCH:-}" = any ] || [ -e "${NVIDIA:-/proc/driver/nvidia/version}" ]; then
  echo "torch: a CUDA build; it downloads about 3 GB (7 GB on disk)"
else
  echo "torch: the only build that your pip knows here is for CUDA: 3 GB to download, 7 GB on disk. This"
  echo "machine has no NVIDIA GPU, and a CPU build (0.2 GB) does the same. PyTorch's installation page names"
  echo "an index of CPU builds. Choose:"
  echo "    make TORCH_INDEX=URL ...    the CPU build of that index"
  echo "    make TORCH=any ...          the CUDA build"
  [ -t 0 ] || exit 2
  printf 'Download the CUDA build now? [y/N] '
  read -r said
  case $said in [yY]*) ;; *) exit 2 ;; esac
fi
"$@" torch
