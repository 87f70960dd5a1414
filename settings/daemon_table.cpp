#include <array>

#include "settings/http_settings.h"
#include "settings/table.h"

namespace pace::settings {

namespace {

constexpr int64_t kKiB = 1024;
constexpr int64_t kMiB = 1024 * kKiB;
constexpr int64_t kTiB = 1024 * 1024 * kMiB;

constexpr std::array kDaemonSettings{
    Setting{.name = "name",
            .kind = Kind::text,
            .initial = "",
            .help = "The name of this node in its cluster, unique there: letters, digits, '.', '_' "
                    "and '-'. Empty: the host's name."},
    Setting{.name = "zone",
            .kind = Kind::text,
            .initial = "",
            .help = "Where this node is: its rack, or its data center, in your own words (letters, "
                    "digits, '.', '_', '-' and '/'; at most 63). Nodes that give the same word are "
                    "near each other: groups prefer them, and sums between zones take relays. "
                    "Empty: the measured times of the links between nodes decide for groups (and "
                    "for sums with the controller's `relay_measured_zones`)."},
    Setting{.name = "socket",
            .kind = Kind::text,
            .initial = "/run/pace/paced.sock",
            .help = "The Unix socket that trainers and pacectl connect to."},
    Setting{.name = "socket_group",
            .kind = Kind::text,
            .initial = "pace",
            .help = "The group whose members may connect. Empty, or a group that does not exist: "
                    "only the user that the daemon runs as."},
    Setting{.name = "controller",
            .kind = Kind::text,
            .initial = "",
            .help = "The cluster's controller, as tcp://host:port. Empty: this node is on its own "
                    "and runs a controller in the daemon's process."},
    Setting{.name = "journal",
            .kind = Kind::text,
            .initial = "",
            .help = "The file in which the controller inside this daemon keeps its jobs over a "
                    "restart. Empty: it keeps nothing. Only without `controller`."},
    Setting{.name = "checkpoints",
            .kind = Kind::text,
            .initial = "",
            .help =
                "The folder in which this daemon keeps checkpoints of the models that it serves "
                "(parameter servers), and copies of other daemons'. Empty: none are kept, and "
                "a job that asks for them is refused."},
    Setting{.name = "data_interface",
            .kind = Kind::text,
            .initial = "",
            .help = "Where other daemons reach this one: an interface (eth1), a subnet "
                    "(10.0.0.0/16) or an address. Empty: loopback, for one machine only."},
    Setting{.name = "data_transport",
            .kind = Kind::text,
            .initial = "tls",
            .help =
                "tls: TCP with TLS 1.3, which strangers cannot read, change or disturb. Otherwise "
                "what UCX may move data with, in the words of UCX_TLS: tcp, or a list such as "
                "rc,tcp. UCX neither encrypts nor authenticates. Equal on all nodes."},
    Setting{.name = "data_port",
            .kind = Kind::integer,
            .initial = "0",
            .min = 0,
            .max = 65535,
            .help = "The port of the data plane (tls only). 0: the kernel chooses one."},
    Setting{.name = "closed_network",
            .kind = Kind::boolean,
            .initial = "false",
            .help =
                "Nobody but the cluster's nodes can reach the network that `data_interface` "
                "names. UCX and NCCL move data neither authenticated nor encrypted, and a program "
                "that reaches a daemon's UCX port can end the daemon or write to its memory. "
                "Without this, UCX is refused on an interface other than loopback, and NCCL is "
                "not used there."},
    Setting{.name = "gpu",
            .kind = Kind::text,
            .initial = "auto",
            .choices = "auto|off",
            .help = "auto: this node's NVIDIA GPUs are used when trainers ask for buffers there. "
                    "The daemon opens them when it starts, which takes some hundred MB of each "
                    "GPU's memory. off: the driver is not touched."},
    Setting{.name = "plugins",
            .kind = Kind::text,
            .initial = "",
            .help = "The folder of the plug-in with the kernels for GPUs, pace-device-cuda.so. "
                    "Empty: where Pace is installed. Without it GPUs only hold and move buffers, "
                    "which are summed on the host."},
    Setting{.name = "nccl",
            .kind = Kind::text,
            .initial = "auto",
            .choices = "auto|off",
            .help = "auto: large sums of buffers on GPUs go from GPU to GPU by NCCL, where all "
                    "their nodes have the same version of it. off: NCCL is not loaded, and they go "
                    "through the hosts."},
    Setting{.name = "nccl_communicators",
            .kind = Kind::integer,
            .initial = "16",
            .min = 1,
            .max = 64,
            .help = "How many communicators of NCCL are kept at most: one for each set of GPUs "
                    "that have exchanged by it. Each takes memory of its GPUs. The one that has "
                    "been unused for longest is ended for a new one."},
    Setting{.name = "threads",
            .kind = Kind::integer,
            .initial = "0",
            .min = 0,
            .max = 1024,
            .help = "Threads that reduce buffers. 0: one for each processor that the daemon is "
                    "given."},
    Setting{.name = "spin_us",
            .kind = Kind::integer,
            .initial = "50",
            .min = 0,
            .max = 10'000,
            .unit = "us",
            .help = "How long the daemon looks for more work before it sleeps. More lowers "
                    "latency and takes processor time from the trainers."},
    Setting{.name = "heartbeat_ms",
            .kind = Kind::milliseconds,
            .initial = "200",
            .min = 10,
            .max = 60'000,
            .help = "How often the daemon tells the controller that it is alive, when it has "
                    "nothing else to say. The controller may ask for another rate."},
    Setting{.name = "progress_deadline_ms",
            .kind = Kind::milliseconds,
            .initial = "2000",
            .min = 50,
            .max = 600'000,
            .help = "An exchange in which nothing has moved for this long is reported as stalled, "
                    "with the nodes that it waits for. A node from which nothing at all has come "
                    "for this long, although this node asked it, counts as cut from this one."},
    Setting{.name = "wait_notice_ms",
            .kind = Kind::milliseconds,
            .initial = "10000",
            .min = 100,
            .max = 3'600'000,
            .help = "When a call has waited for this long, the library, this daemon's log (again "
                    "after twice as long) and pacectl daemon say for what it waits."},
    Setting{.name = "small_bytes_max",
            .kind = Kind::bytes,
            .initial = "8 KiB",
            .min = 0,
            .max = 1024 * kMiB,
            .help = "Exchanges of up to this many bytes take the path with the fewest steps "
                    "instead of the one with the fewest bytes. The same on all nodes of a "
                    "cluster."},
    Setting{.name = "chunk_bytes",
            .kind = Kind::bytes,
            .initial = "64 KiB",
            .min = 4 * kKiB,
            .max = 64 * kMiB,
            .help = "Large buffers travel in chunks of at most this size, so that adding one "
                    "overlaps with moving the next. The same on all nodes of a cluster."},
    Setting{.name = "window",
            .kind = Kind::integer,
            .initial = "16",
            .min = 1,
            .max = 256,
            .unit = "chunks",
            .help = "Chunks in flight to each peer."},
    Setting{.name = "client_bytes_max",
            .kind = Kind::bytes,
            .initial = "8 GiB",
            .min = kMiB,
            .max = kTiB,
            .help = "Memory that the buffers of one trainer may take, so that memory is left for "
                    "its user's other trainers."},
    Setting{.name = "client_buffers_max",
            .kind = Kind::integer,
            .initial = "1024",
            .min = 1,
            .max = 1'000'000,
            .unit = "buffers",
            .help = "Buffers that one trainer may have."},
    Setting{.name = "user_bytes_max",
            .kind = Kind::bytes,
            .initial = "0",
            .min = 0,
            .max = kTiB * 64,
            .help = "Memory that this daemon may keep for one user: the buffers of the user's "
                    "trainers, also of those that died, and the results and shards of models of "
                    "the user's jobs. 0: three quarters of this machine's memory."},
    Setting{.name = "user_buffers_max",
            .kind = Kind::integer,
            .initial = "16384",
            .min = 1,
            .max = 1'000'000,
            .unit = "buffers",
            .help = "Buffers that all trainers of one user may have together."},
    Setting{.name = "user_clients_max",
            .kind = Kind::integer,
            .initial = "256",
            .min = 1,
            .max = 65'536,
            .unit = "connections",
            .help = "Trainers and tools that one user may have connected at once."},
    Setting{.name = "buffers_keep_s",
            .kind = Kind::integer,
            .initial = "600",
            .min = 0,
            .max = 86'400,
            .unit = "s",
            .help = "How long the buffers of a trainer that died are kept for the trainer of the "
                    "same user that takes its rank of the job again on this node. They count as "
                    "the user's memory, and are freed when live trainers need it. 0: not at all."},
    Setting{.name = "clients_max",
            .kind = Kind::integer,
            .initial = "1024",
            .min = 1,
            .max = 65'536,
            .unit = "connections",
            .help = "Trainers and tools that may be connected at once, of all users."},
    Setting{.name = "memory_max",
            .kind = Kind::bytes,
            .initial = "0",
            .min = 0,
            .max = kTiB * 64,
            .help = "Memory that this daemon may keep for all users together. 0: only the bound of "
                    "each user holds."},
    Setting{.name = "log_level",
            .kind = Kind::text,
            .initial = "info",
            .choices = "error|warning|info|debug",
            .help = "The least important lines that are logged."},
    Setting{.name = "curve_server_key_file",
            .kind = Kind::text,
            .initial = "",
            .help = "The file with the controller's public key, as `pacectl keygen` writes it. "
                    "Needed when the controller is on another machine."},
    Setting{.name = "curve_secret_file",
            .kind = Kind::text,
            .initial = "",
            .help =
                "The file with this daemon's own secret key, as `pacectl keygen` writes it. If the "
                "daemon may not read it, the credential with the file's name takes its place, "
                "which systemd passes (`LoadCredential=`)."},
    Setting{.name = "insecure",
            .kind = Kind::boolean,
            .initial = "false",
            .help = "Talk to a controller on another machine without encryption or proof of "
                    "identity. For closed laboratory networks. Without it, and without keys, the "
                    "daemon does not start. Keys that are given are used all the same. The data "
                    "plane is as safe as ever, but for its keys, which come from the controller."},
    kHttpListen,
    kHttpUsers,
    kHttpTokenFile,
    kHttpOperatorTokenFile,
    kHttpTlsCertificate,
    kHttpTlsKey,
};

constexpr Table kDaemonTable{
    .program = "paced",
    .summary = "The daemon of Pace: one on every node, moving the buffers of its trainers.",
    .file = "/etc/pace/paced.toml",
    .environment_prefix = "PACED_",
    .settings = kDaemonSettings,
};

}  // namespace

const Table& daemon_table() {
    return kDaemonTable;
}

}  // namespace pace::settings
