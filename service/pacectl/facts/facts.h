// Facts: what doctor observes on this machine. Collected here, judged in findings.h.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "libclient/link/endpoint.h"
#include "service/pacectl/console/document.h"
#include "service/pacectl/facts/key_findings.h"
#include "service/pacectl/facts/machine_facts.h"
#include "service/pacectl/facts/network_facts.h"

namespace pace::pacectl {

struct SocketFacts {
    std::string path;
    bool exists = false;
    bool is_socket = false;
    bool may_connect = false;  // by the file's permissions for this user
    mode_t mode = 0;
    gid_t gid = 0;
    std::string owner;
    std::string group;
    std::string looked_at;  // the system's error if it does not exist
};

struct DaemonFacts {
    std::optional<base::Error> refused;  // why the daemon did not answer
    std::string version;                 // the daemon's version
    std::optional<Json> document;
    std::optional<base::Error> document_error;
    std::optional<Json> status;               // the controller's document
    std::optional<base::Error> status_error;  // why it is missing
};

struct Facts {
    client::Endpoint endpoint;
    SocketFacts socket;
    DaemonFacts daemon;
    NetworkFacts network;
    KeyFacts keys;
    MachineFacts machine;
};

// `keys` is the folder of key files.
Facts gather_facts(const client::Endpoint& endpoint, const std::string& keys);

}  // namespace pace::pacectl
