#include "tests/cluster/harness/crew.h"

#include <algorithm>
#include <utility>

#include <gtest/gtest.h>

namespace pace::cluster {

Crew::Crew(const Cluster& cluster, Options options) : options_(std::move(options)) {
    for (uint32_t rank = 0; rank < options_.nodes.size(); ++rank) {
        workers_.push_back(std::make_unique<Worker>(
            WorkerOptions{.endpoint = cluster.endpoint(options_.nodes[rank]),
                          .job = options_.job,
                          .rank = rank,
                          .world = static_cast<uint32_t>(options_.nodes.size()),
                          .tune = options_.tune}));
        EXPECT_EQ(workers_.back()->opened(), PACE_OK) << workers_.back()->complaint();
        data_.push_back(workers_.back()->add_floats(options_.elements, 0));
    }
}

pace_request Crew::call(size_t rank, double gradient) {
    set(rank, gradient);
    return workers_[rank]->reduce(options_.op);
}

double Crew::reduce(size_t rank, double gradient) {
    workers_[rank]->finish(call(rank, gradient));
    return value(rank);
}

double Crew::value(size_t rank) const {
    const float first = data_[rank][0];
    const bool uniform = std::all_of(data_[rank], data_[rank] + options_.elements,
                                     [first](float element) { return element == first; });
    EXPECT_TRUE(uniform) << "a torn buffer of worker " << rank;
    return static_cast<double>(first);
}

void Crew::set(size_t rank, double value) {
    std::fill_n(data_[rank], options_.elements, static_cast<float>(value));
}

void Crew::everyone(const Verb& verb) {
    std::vector<std::pair<Worker*, pace_request>> requests;
    for (const auto& worker : workers_)
        if (worker) requests.emplace_back(worker.get(), verb(*worker));
    for (const auto& [worker, request] : requests) worker->finish(request);
}

void Crew::barrier() {
    everyone([](Worker& worker) { return worker.barrier(); });
}

std::vector<size_t> in_turn(size_t world, size_t nodes) {
    std::vector<size_t> placed;
    for (size_t rank = 0; rank < world; ++rank) placed.push_back(rank % nodes);
    return placed;
}

}  // namespace pace::cluster
