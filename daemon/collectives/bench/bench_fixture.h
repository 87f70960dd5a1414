// bench_fixture: forks the processes of a benchmark among nodes over UCX. With a namespace prefix,
// node i first moves into network namespace PREFIXi. An error ends the process with a message.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/event_loop.h"
#include "base/loop/task.h"
#include "base/result.h"
#include "daemon/collectives/messages/communicator.h"
#include "transports/transport.h"

namespace pace::collectives {

struct BenchCluster {
    size_t nodes = 4;
    // Empty means that all nodes use `device` of this namespace.
    std::string netns_prefix;
    std::string device = "lo";
    // The number of zones. Node i is in zone i modulo `zones`. 0 means no zones.
    size_t zones = 0;
};

[[noreturn]] void end_bench(const std::string& why);

// Transfer all `size` bytes through a pipe or socket.
void write_all(int fd, const void* data, size_t size);
void read_all(int fd, void* data, size_t size);

class BenchNode {
  public:
    // Joins the other nodes. `fd` leads to the process that forked them.
    BenchNode(const BenchCluster& cluster, size_t self, int fd);

    transports::Transport& transport() { return *transport_; }
    // Returns the group of the next exchange.
    const Group& next_group();

    template <typename T>
    void await(base::Task<base::Result<T>> task) {
        bool ended = false;
        base::spawn<base::Result<T>>(std::move(task), [&ended](const base::Result<T>& result) {
            if (!result) end_bench(result.error().message);
            ended = true;
        });
        while (!ended) loop_->turn(true);
    }

    template <typename Sample>
    void tell(const Sample& sample) {
        write_all(fd_, &sample, sizeof(sample));
    }

  private:
    void join(const BenchCluster& cluster, size_t self);

    int fd_;
    std::unique_ptr<transports::Transport> transport_;
    std::unique_ptr<base::EventLoop> loop_;
    Group group_;
};

// Forks a process for each node. In each process, `run` makes a BenchNode and measures. Returns the
// descriptors from which the samples of the nodes are read.
std::vector<int> start_bench(const BenchCluster& cluster,
                             const std::function<void(size_t self, int fd)>& run);

// Waits for the end of all processes that start_bench() has forked.
void finish_bench();

}  // namespace pace::collectives
