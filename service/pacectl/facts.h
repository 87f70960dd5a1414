// Facts: what doctor looks at on this machine. Gathered here, judged in findings.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libclient/endpoint.h"
#include "service/pacectl/document.h"

namespace pace::pacectl {

struct SocketFacts {
    std::string path;
    bool exists = false;
    bool is_socket = false;
    bool may_connect = false;  // this user, by the file's permissions
    mode_t mode = 0;
    std::string owner;
    std::string group;
    std::string looked_at;  // when it does not exist: why, in the system's words
};

struct DaemonFacts {
    std::optional<base::Error> refused;  // why there is no answer
    std::string version;                 // what it says it is
    std::optional<Json> document;
    std::optional<base::Error> document_error;
    std::optional<base::Error> status_error;  // the controller's status could not be had
};

struct MachineFacts {
    std::optional<uint64_t> memlock_bytes;  // of the daemon if known, else of this shell
    bool memlock_is_of_daemon = false;
    bool memlock_is_infinite = false;
    std::optional<uint64_t> shared_memory_bytes;  // free in /dev/shm
    std::optional<uint64_t> memory_available_bytes;
    std::vector<int> daemons;  // process ids of every paced on this machine
    std::string ucx_version;   // empty: the library is not there
    std::string zmq_version;
    bool ucx_moves_gpu_memory = false;  // it has its parts for CUDA
};

struct Facts {
    client::Endpoint endpoint;
    SocketFacts socket;
    DaemonFacts daemon;
    MachineFacts machine;
};

Facts gather_facts(const client::Endpoint& endpoint);

// The soft limit called `name` in the text of /proc/PID/limits. Absent if it is not there; the
// largest number if it is unlimited.
std::optional<uint64_t> limit_in(std::string_view limits, std::string_view name);

}  // namespace pace::pacectl
