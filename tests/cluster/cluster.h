// Cluster: a controller and its daemons on loopback, in a temporary directory that goes with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cable.h"
#include "network.h"
#include "process.h"

namespace pace::cluster {

class Cluster {
  public:
    struct Options {
        size_t nodes = 1;
        // Without: one daemon, with the controller in its process.
        bool controller = true;
        // Then: that one has a journal, too.
        bool journal = false;
        std::vector<std::string> daemon_flags = {};
        std::vector<std::string> controller_flags = {};
        // By node: where it says that it is; empty: nothing.
        std::vector<std::string> zones = {};
        // Each daemon keeps checkpoints, in its checkpoints().
        bool checkpoints = true;
        // This node's link to the controller can be cut.
        std::optional<size_t> cabled = std::nullopt;
        // The daemons are at its first places, the controller at the one behind them; none: all are on loopback.
        const Network* network = nullptr;
    };

    // Everything is up when this returns; GoogleTest failures if it is not.
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
    // Dead when this returns.
    void kill_controller();
    // Of a controller that is dead.
    void lose_journal() const;
    // On the port that it had the first time, with the same journal.
    void start_controller();

    // Stops it until all daemons have given it up, which is longer than it waits for any of them, and lets it go on.
    void freeze_controller();

    // A trainer on the node: `trainer --endpoint … FLAGS`.
    Process trainer(size_t node, std::vector<std::string> flags);
    // As many as world, spread over the nodes in blocks of equal size, rank by rank; every one has joined when this returns.
    std::vector<Process> trainers(size_t world, const std::vector<std::string>& flags);

    // What `pacectl --endpoint … ARGUMENTS` prints; its exit status must be `status`.
    std::string pacectl(size_t node, const std::vector<std::string>& arguments, int status = 0);

    // What the controller says of everything, for failure messages.
    std::string state();
    // The logs of all processes, for failure messages.
    std::string logs() const;
    // How often the log of "controller" or of a node's daemon says this.
    size_t said(const std::string& who, const std::string& text) const;
    // Until it says so that often; false if it does not in time.
    bool wait_until_said(const std::string& who, const std::string& text, size_t times,
                         Deadline deadline) const;

  private:
    std::string controller_endpoint_for(size_t node);
    // The arguments, as a command at a place of the network if there is one.
    std::vector<std::string> at(size_t place, std::vector<std::string> arguments) const;
    std::string log(const std::string& who) const { return directory_ + "/" + who + ".log"; }

    Options options_;
    std::string directory_;
    std::string controller_endpoint_;
    std::unique_ptr<Process> controller_;
    std::unique_ptr<Cable> cable_;
    std::vector<Process> daemons_;
};

// How long anything that must happen may take on a slow, shared machine under a sanitizer. Not a performance figure.
inline Deadline soon() {
    return within(std::chrono::seconds(30));
}

}  // namespace pace::cluster
