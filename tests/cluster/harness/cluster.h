// Cluster: a controller and its daemons on loopback. Their temporary directory is removed with the
// Cluster.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cluster/harness/cable.h"
#include "tests/cluster/harness/network.h"
#include "tests/cluster/harness/process.h"

namespace pace::cluster {

inline constexpr uint64_t kMebi = uint64_t{1} << 20U;

class Cluster {
  public:
    struct Options {
        size_t nodes = 1;
        // Without a controller there is one daemon, which has the controller in its process.
        bool controller = true;
        // Without a controller process: whether the controller in the daemon's process has a
        // journal, too.
        bool journal = false;
        std::vector<std::string> daemon_flags = {};
        std::vector<std::string> controller_flags = {};
        // By node: the zone that the node reports. Empty means that no node reports a zone.
        std::vector<std::string> zones = {};
        // Whether each daemon keeps checkpoints, in its checkpoints().
        bool checkpoints = true;
        // The link of this node to the controller can be cut.
        std::optional<size_t> cabled = std::nullopt;
        // The daemons are at the first places of this network, and the controller is at the next
        // place. Null means that all are on loopback.
        const Network* network = nullptr;
    };

    // Returns when all processes are up. Records GoogleTest failures if they do not come up.
    explicit Cluster(Options options);
    ~Cluster();
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    static std::string name(size_t node) { return "node" + std::to_string(node); }
    std::string endpoint(size_t node) const { return "unix:" + socket(node); }
    std::string socket(size_t node) const { return directory_ + "/" + name(node) + ".sock"; }
    const std::string& directory() const { return directory_; }
    std::string checkpoints(size_t node) const {
        return directory_ + "/" + name(node) + ".checkpoints";
    }
    std::string journal() const { return directory_ + "/journal"; }
    Process& daemon(size_t node) { return daemons_[node]; }
    Process& controller() { return *controller_; }
    Cable& cable() { return *cable_; }
    const std::string& controller_endpoint() const { return controller_endpoint_; }

    void start_daemon(size_t node);
    // The controller is dead when this function returns.
    void kill_controller();
    // Removes the journal. The controller must be dead.
    void lose_journal() const;
    // Starts the controller on the port that it had the first time, with the same journal.
    void start_controller();

    // Stops the controller until all daemons have given it up, and then lets it go on. The stop
    // lasts longer than the controller waits for any daemon.
    void freeze_controller();

    // Starts a trainer on the node: `trainer --endpoint … FLAGS`.
    Process trainer(size_t node, std::vector<std::string> flags);
    // Starts `world` trainers, spread over the nodes in blocks of equal size, rank by rank. Every
    // trainer has joined when this function returns.
    std::vector<Process> trainers(size_t world, const std::vector<std::string>& flags);

    // Returns what `pacectl --endpoint … ARGUMENTS` prints. The exit status of pacectl must be
    // `status`.
    std::string pacectl(size_t node, const std::vector<std::string>& arguments, int status = 0);

    // Returns the controller's report on everything, for failure messages.
    std::string state();
    // Returns the logs of all processes, for failure messages.
    std::string logs() const;
    // Returns how often the log of "controller" or of a node's daemon contains this text.
    size_t said(const std::string& who, const std::string& text) const;
    // Waits until the log contains the text that often. Returns false if this does not happen in
    // time.
    bool wait_until_said(const std::string& who, const std::string& text, size_t times,
                         Deadline deadline) const;

  private:
    std::string controller_endpoint_for(size_t node);
    // Returns the arguments. If there is a network, returns them as a command at a place of the
    // network.
    std::vector<std::string> at(size_t place, std::vector<std::string> arguments) const;
    std::string log(const std::string& who) const { return directory_ + "/" + who + ".log"; }

    Options options_;
    std::string directory_;
    std::string controller_endpoint_;
    std::unique_ptr<Process> controller_;
    std::unique_ptr<Cable> cable_;
    std::vector<Process> daemons_;
};

// The time that anything that must happen may take on a slow, shared machine under a sanitizer. It
// is no performance figure.
inline Deadline soon() {
    return within(std::chrono::seconds(30));
}

}  // namespace pace::cluster
