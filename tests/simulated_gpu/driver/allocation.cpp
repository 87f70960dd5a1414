#include "tests/simulated_gpu/driver/allocation.h"

#include <mutex>
#include <utility>
#include <vector>

#include "tests/simulated_gpu/driver/contexts.h"
#include "tests/simulated_gpu/driver/state/settings.h"

namespace pace::simulated_gpu {

namespace {

struct Budget {
    std::mutex mutex;
    std::vector<size_t> taken = std::vector<size_t>(static_cast<size_t>(settings().devices));
};

Budget& budget() {
    static Budget& all = *new Budget;
    return all;
}

bool take(int ordinal, size_t bytes) {
    const std::scoped_lock lock(budget().mutex);
    size_t& taken = budget().taken[static_cast<size_t>(ordinal)];
    if (bytes > settings().bytes - taken) return false;
    taken += bytes;
    return true;
}

void give_back(int ordinal, size_t bytes) {
    const std::scoped_lock lock(budget().mutex);
    budget().taken[static_cast<size_t>(ordinal)] -= bytes;
}

}  // namespace

std::shared_ptr<Allocation> Allocation::create(int ordinal, size_t bytes, bool exportable) {
    if (!take(ordinal, bytes)) return nullptr;
    auto file = SharedFile::create(SharedFile::Kind::memory, number_on_machine(ordinal), bytes);
    if (!file) {
        give_back(ordinal, bytes);
        return nullptr;
    }
    return std::make_shared<Allocation>(std::move(*file), ordinal, exportable);
}

std::shared_ptr<Allocation> Allocation::import(SharedFile file) {
    return std::make_shared<Allocation>(std::move(file), std::nullopt, true);
}

Allocation::Allocation(SharedFile file, std::optional<int> counted_on, bool exportable)
    : file_(std::move(file)), counted_on_(counted_on), exportable_(exportable) {}

Allocation::~Allocation() {
    if (counted_on_) give_back(*counted_on_, bytes());
}

size_t free_bytes(int ordinal) {
    const std::scoped_lock lock(budget().mutex);
    return settings().bytes - budget().taken[static_cast<size_t>(ordinal)];
}

}  // namespace pace::simulated_gpu
