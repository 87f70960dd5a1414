#include <array>
#include <limits>

#include "settings/http_settings.h"
#include "settings/table.h"

namespace pace::settings {

namespace {

constexpr std::array kControllerSettings{
    Setting{.name = "listen",
            .kind = Kind::text,
            .initial = "tcp://127.0.0.1:7411",
            .help = "Where daemons reach the controller. An address other than loopback needs "
                    "keys, or `insecure`. Port 0 takes a free one and logs it."},
    Setting{.name = "journal",
            .kind = Kind::text,
            .initial = "/var/lib/pace-controller/controller.journal",
            .help = "The file in which jobs, members and epochs survive a restart. Empty: nothing "
                    "does."},
    Setting{.name = "cut_damaged_journal",
            .kind = Kind::boolean,
            .initial = "false",
            .help = "If the journal is damaged before its end, which no crash causes, the "
                    "controller copies it to a file beside it and cuts it at the damage. Otherwise "
                    "the controller does not start with such a journal."},
    Setting{.name = "curve_secret_file",
            .kind = Kind::text,
            .initial = "",
            .help =
                "The file with the controller's secret key, as `pacectl keygen` writes it. If the "
                "controller may not read it, the credential with the file's name takes its "
                "place, which systemd passes (`LoadCredential=`)."},
    Setting{.name = "curve_allowed_dir",
            .kind = Kind::text,
            .initial = "",
            .help =
                "A folder with the public key of every daemon that may attach. NAME.public is the "
                "key of the node NAME; `pacectl key` adds and removes them. The folder is read "
                "again when its files change. An address off loopback needs this setting, or "
                "`insecure`. Empty: on loopback, root and the controller's own user may attach "
                "daemons, "
                "under any name."},
    Setting{.name = "insecure",
            .kind = Kind::boolean,
            .initial = "false",
            .help =
                "Listen off loopback without `curve_secret_file`, and then without encryption or "
                "proof of identity; or with it, but without `curve_allowed_dir`. On loopback, "
                "without `curve_allowed_dir`, hear all users of this machine, and not root and the "
                "controller's own user alone. Keys that are given are used all the same. For "
                "closed laboratory networks."},
    Setting{.name = "any_interface",
            .kind = Kind::boolean,
            .initial = "false",
            .help = "Allow an address in `listen` that means every interface of the machine."},
    Setting{.name = "heartbeat_ms",
            .kind = Kind::milliseconds,
            .initial = "200",
            .min = 10,
            .max = 60'000,
            .help = "How often daemons are asked to show that they are alive."},
    Setting{.name = "liveness_max_ms",
            .kind = Kind::milliseconds,
            .initial = "2000",
            .min = 50,
            .max = 600'000,
            .help = "A silent daemon is excluded after at most this; earlier if its messages used "
                    "to be regular."},
    Setting{
        .name = "liveness_min_ms",
        .kind = Kind::milliseconds,
        .initial = "500",
        .min = 20,
        .max = 600'000,
        .help =
            "A silent daemon is excluded after at least this, even if its messages were regular."},
    Setting{.name = "probe_wait_ms",
            .kind = Kind::milliseconds,
            .initial = "30",
            .min = 1,
            .max = 60'000,
            .help = "A daemon whose peer says it is gone must answer a probe within this."},
    Setting{.name = "stopped_wait_ms",
            .kind = Kind::milliseconds,
            .initial = "2000",
            .min = 0,
            .max = 3'600'000,
            .help = "A worker whose process was stopped by a signal is suspended after this."},
    Setting{.name = "abandoned_keep_s",
            .kind = Kind::integer,
            .initial = "600",
            .min = 0,
            .max = 31'536'000,
            .unit = "s",
            .help = "A job whose workers are all gone is kept for this long."},
    Setting{.name = "relay_measured_zones",
            .kind = Kind::boolean,
            .initial = "false",
            .help = "Prefers speed to equal results of reruns: sums take relays (fewer bytes over "
                    "slow links) also where zones were only measured. Measurements differ from run "
                    "to run, and so the last bits of a sum differ, too. Without it, only daemons "
                    "that name their `zone` sum through relays, and a rerun gives the same bits."},
    Setting{.name = "unjoined_keep_s",
            .kind = Kind::integer,
            .initial = "86400",
            .min = 1,
            .max = 31'536'000,
            .unit = "s",
            .help = "A created job that no worker has joined ends after this. The time begins "
                    "again when the controller restarts."},
    Setting{.name = "jobs_max",
            .kind = Kind::integer,
            .initial = "4096",
            .min = 1,
            .max = 1'000'000,
            .unit = "jobs",
            .help = "Jobs that may be there at once."},
    Setting{.name = "user_jobs_max",
            .kind = Kind::integer,
            .initial = "256",
            .min = 1,
            .max = 1'000'000,
            .unit = "jobs",
            .help = "Jobs of one user that may be there at once."},
    Setting{.name = "connections_max",
            .kind = Kind::integer,
            .initial = "1024",
            .min = 1,
            .max = 65'536,
            .unit = "connections",
            .help =
                "Daemons and other programs that may be connected at once; further connections are "
                "refused. No more than half of the process's open files. The messages of one "
                "connection may take 6 MiB of the controller's memory before they are read."},
    Setting{.name = "workers_max",
            .kind = Kind::integer,
            .initial = "262144",
            .min = 1,
            .max = 100'000'000,
            .unit = "workers",
            .help = "Workers that all jobs together may have. A job counts with its whole world, "
                    "whether they have joined or not, and 16 edges of a communication graph as one "
                    "worker more. A worker takes about 700 bytes of the controller's memory."},
    Setting{.name = "user_workers_max",
            .kind = Kind::integer,
            .initial = "65536",
            .min = 1,
            .max = 100'000'000,
            .unit = "workers",
            .help = "Workers that the jobs of one user may have, counted in the same way."},
    Setting{.name = "log_level",
            .kind = Kind::text,
            .initial = "info",
            .choices = "error|warning|info|debug",
            .help = "The least important lines that are logged."},
    Setting{.name = "seed",
            .kind = Kind::integer,
            .initial = "0",
            .min = 0,
            .max = std::numeric_limits<int64_t>::max(),
            .help = "The seed of every random choice in forming groups. 0: another one at every "
                    "start. To repeat a run, give the one that it logged."},
    kHttpListen,
    kHttpUsers,
    kHttpTokenFile,
    kHttpOperatorTokenFile,
    kHttpTlsCertificate,
    kHttpTlsKey,
};

constexpr Table kControllerTable{
    .program = "pace-controller",
    .summary = "The controller of Pace: one per cluster, deciding who exchanges with whom.",
    .file = "/etc/pace/pace-controller.toml",
    .environment_prefix = "PACE_CONTROLLER_",
    .settings = kControllerSettings,
};

}  // namespace

const Table& controller_table() {
    return kControllerTable;
}

}  // namespace pace::settings
