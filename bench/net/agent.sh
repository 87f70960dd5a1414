#!/usr/bin/env bash
# agent.sh: the program that an MPI's launcher calls in place of ssh. The host is a node's address.
# NODES_PREFIX names the nodes.
#
#     agent.sh [OPTIONS] ADDRESS COMMAND...
set -euo pipefail

while [[ $1 == -* ]]; do shift; done
node=$((${1##*.} - 1))
shift
# Like ssh, this joins the words and gives them to a shell.
exec "$(dirname "$0")/nodes.sh" exec "${NODES_PREFIX:?}" "$node" bash -c "$*"
