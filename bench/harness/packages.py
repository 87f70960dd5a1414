"""Debian packages of the implementations that Pace is compared with, and of the tools to build Pace."""

import os
import subprocess

PEERS = ["openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libgloo-dev"]
NETWORK = ["iproute2", "util-linux"]
BUILD = ["g++", "cmake", "ninja-build", "pkg-config", "libfmt-dev", "libgtest-dev", "libflatbuffers-dev",
         "flatbuffers-compiler", "libzmq3-dev", "libucx-dev", "libhwy-dev", "libsystemd-dev",
         "libcli11-dev", "libtomlplusplus-dev", "nlohmann-json3-dev", "libxxhash-dev", "libzstd-dev",
         "libssl-dev"]


def is_installed(package):
    query = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", package],
                           capture_output=True, text=True, check=False)
    return query.stdout == "installed"


def version(package):
    query = subprocess.run(["dpkg-query", "--show", "--showformat=${Version}", package],
                           capture_output=True, text=True, check=False)
    return query.stdout


def install_missing():
    missing = [name for name in PEERS + NETWORK + BUILD if not is_installed(name)]
    if missing:
        print("installing " + " ".join(missing), flush=True)
        as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        subprocess.run([*as_root, "apt-get", "update", "-qq"], check=True)
        subprocess.run([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
                        "--no-install-recommends", *missing], check=True, stdout=subprocess.DEVNULL)
    print("peers: " + ", ".join(f"{name} {version(name)}" for name in ("openmpi-bin", "mpich", "libgloo-dev")),
          flush=True)
