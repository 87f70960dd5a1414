// FlatCluster, for tests: participants on a few nodes of an in-memory network. They are peers of
// one another through flat transports.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/sparse/exchange/flat_transport.h"
#include "transports/memory/memory_network.h"
#include "transports/memory/memory_transport.h"

namespace pace::sparse {

class FlatCluster {
  public:
    // `places[p]` is the node of participant p.
    explicit FlatCluster(std::vector<size_t> places, std::optional<uint64_t> seed = std::nullopt)
        : places_(std::move(places)), network_(seed) {
        for (const size_t place : places_) add_nodes(place + 1);
        for (size_t node = 0; node < reals_.size(); ++node) {
            std::vector<std::optional<transports::PeerId>> hosts;
            for (const size_t place : places_)
                hosts.push_back(
                    place == node
                        ? std::nullopt
                        : std::optional(reals_[node]->connect(reals_[place]->address()).value()));
            flats_.push_back(std::make_unique<FlatNode>(*reals_[node], std::move(hosts),
                                                        kernels::Aside(pool_, {}, 0)));
            FlatNode* flat = flats_.back().get();
            reals_[node]->set_peer_lost_handler(
                [flat](transports::PeerId peer, const base::Error& error) {
                    flat->peer_lost(peer, error);
                });
        }
    }
    ~FlatCluster() { end(); }
    FlatCluster(const FlatCluster&) = delete;
    FlatCluster& operator=(const FlatCluster&) = delete;

    size_t participants() const { return places_.size(); }
    size_t place(size_t participant) const { return places_[participant]; }
    FlatTransport& transport(size_t participant) {
        return flats_[places_[participant]]->participant(
            static_cast<transports::PeerId>(participant));
    }
    transports::MemoryTransport& real(size_t node) { return *reals_[node]; }
    FlatNode& flat(size_t node) { return *flats_[node]; }

    // Kills the node with all its participants. The node does nothing any more.
    void kill(size_t node) {
        network_.kill(*reals_[node]);
        killed_[node] = true;
    }
    bool is_killed(size_t node) const { return killed_[node]; }

    bool progress() {
        bool worked = network_.progress();
        for (size_t node = 0; node < flats_.size(); ++node)
            if (!killed_[node]) worked = flats_[node]->poll() || worked;
        return worked;
    }
    void run() {
        while (progress()) {
        }
    }
    bool idle() {
        for (size_t node = 0; node < flats_.size(); ++node)
            if (!killed_[node] && !flats_[node]->arm()) return false;
        return true;
    }

    // Ends all operations: first those between nodes, then those within a node.
    void end() {
        reals_.clear();
        flats_.clear();
    }

  private:
    void add_nodes(size_t count) {
        while (reals_.size() < count) {
            reals_.push_back(network_.create());
            killed_.push_back(false);
        }
    }

    std::vector<size_t> places_;
    transports::MemoryNetwork network_;
    kernels::WorkerPool pool_{0};
    std::vector<std::unique_ptr<FlatNode>> flats_;
    std::vector<std::unique_ptr<transports::MemoryTransport>> reals_;
    std::vector<bool> killed_;
};

}  // namespace pace::sparse
