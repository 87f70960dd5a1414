#!/usr/bin/env bash
# nodes.sh: a small cluster on one machine. Each node is a network namespace with one interface,
# data0. A bridge in a namespace of its own joins the nodes. A token bucket limits every link in
# both directions. No packet can leave the machine. See the README beside this file.
set -euo pipefail

subnet=10.77.0 # node I has address $subnet.(I+1)

usage() {
    cat <<'TEXT'
usage: nodes.sh up PREFIX N [RATE [DELAY]]
                                        make nodes PREFIX0 .. PREFIX(N-1); RATE as tc takes it (1gbit),
                                        and so DELAY (1ms), by which every packet comes later
       nodes.sh exec PREFIX I CMD...    run a command in node I, with a host name of its own
       nodes.sh address I               print the address of node I
       nodes.sh down PREFIX             remove them, and end what runs in them
       nodes.sh with N RATE CMD...      make nodes, run a command with NODES_PREFIX set, remove them
Needs root and iproute2, and of the kernel veth, bridge, sch_tbf and, for a delay, sch_netem.
TEXT
}

fail() {
    echo "nodes.sh: $*" >&2
    exit 1
}

address() { echo "$subnet.$(($1 + 1))"; }

# Token buckets let a burst pass unshaped. The burst is small enough not to show, and large enough
# for a 64 KB segment.
limit_rate() { # namespace interface rate
    ip netns exec "$1" tc qdisc replace dev "$2" root handle 1: tbf rate "$3" burst 128kb limit 2mb
}

# This takes the place of the bucket for waiting packets. It holds far more packets than a delayed
# link does.
add_delay() { # namespace interface delay
    ip netns exec "$1" tc qdisc replace dev "$2" parent 1:1 handle 10: netem delay "$3" limit 100000 ||
        fail "no delay of $3: does the kernel have sch_netem?"
}

add_node() { # prefix index rate delay
    local node=$1$2 switch=$1sw port=port$2
    ip netns add "$node"
    ip link add data0 netns "$node" type veth peer name "$port" netns "$switch"
    ip -n "$switch" link set "$port" master bridge0 up
    ip -n "$node" link set lo up
    ip -n "$node" link set data0 up
    ip -n "$node" address add "$(address "$2")/24" dev data0
    # Cubic, whatever the machine's default. Clusters run Cubic, and it fills a token bucket.
    ip -n "$node" route replace "$subnet.0/24" dev data0 src "$(address "$2")" congctl cubic
    limit_rate "$node" data0 "$3"
    [[ -z $4 ]] || add_delay "$node" data0 "$4"
    limit_rate "$switch" "$port" "$3"
}

up() { # prefix count rate delay
    local prefix=$1 count=$2 rate=${3:-1gbit} delay=${4:-} index
    [[ $(id -u) == 0 ]] || fail "network namespaces need root"
    ip netns add "${prefix}sw"
    ip -n "${prefix}sw" link add bridge0 type bridge
    ip -n "${prefix}sw" link set bridge0 up
    for ((index = 0; index < count; ++index)); do add_node "$prefix" "$index" "$rate" "$delay"; done
}

down() { # prefix
    local name
    ip netns list | awk '{print $1}' | grep -E "^$1([0-9]+|sw)\$" | while read -r name; do
        ip netns pids "$name" | xargs -r kill -KILL 2>/dev/null || true
        ip netns delete "$name"
    done || true
}

run_in() { # prefix index command...
    local node=$1$2
    shift 2
    # shellcheck disable=SC2016  # expanded by the inner shell, after its host name is set
    exec ip netns exec "$node" unshare --uts \
        bash -c 'hostname "$1"; shift; exec "$@"' nodes.sh "$node" "$@"
}

with() { # count rate command...
    local count=$1 rate=$2
    shift 2
    NODES_PREFIX=pn$$-
    export NODES_PREFIX
    trap 'down "$NODES_PREFIX"' EXIT
    trap 'exit 130' INT TERM HUP
    up "$NODES_PREFIX" "$count" "$rate"
    "$@"
}

case ${1:-} in
up | down | with | address) "$@" ;;
exec) run_in "${@:2}" ;;
-h | --help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
