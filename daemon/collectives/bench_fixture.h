// bench_fixture: the processes of a benchmark among nodes over UCX, forked here; with a namespace prefix,
// node i moves into network namespace PREFIXi first. What goes wrong ends the process with a sentence.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.h"
#include "base/result.h"
#include "base/task.h"
#include "daemon/collectives/communicator.h"
#include "transports/transport.h"

namespace pace::collectives {

struct BenchCluster {
    size_t nodes = 4;
    std::string netns_prefix;  // empty: all meet on `device` of this namespace
    std::string device = "lo";
    // Node i is in zone i modulo so many; 0: none is known.
    size_t zones = 0;
};

[[noreturn]] void end_bench(const std::string& why);

// The whole of it, through a pipe or socket.
void write_all(int fd, const void* data, size_t size);
void read_all(int fd, void* data, size_t size);

class BenchNode {
  public:
    // Joins the others; `fd` leads to the process that forked all.
    BenchNode(const BenchCluster& cluster, size_t self, int fd);

    transports::Transport& transport() { return *transport_; }
    // The next exchange's group.
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

// Forks a process for each node, in which `run` makes a BenchNode and measures; gives the descriptors
// from which their samples are read.
std::vector<int> start_bench(const BenchCluster& cluster,
                             const std::function<void(size_t self, int fd)>& run);

// Waits for the end of all that start_bench() forked.
void finish_bench();

}  // namespace pace::collectives
