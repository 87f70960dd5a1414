// Handles: maps the caller's handles to objects. No number is given twice. So a handle that was
// destroyed, or never made, is noticed and not followed.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace pace::simulated_gpu {

// `Handle` is a pointer or an integer of the driver's interface. Any thread may use a Handles.
template <typename Handle, typename Object>
class Handles {
  public:
    // Each kind's numbers begin at another number, so that a handle of another kind is noticed,
    // too.
    explicit Handles(uint64_t first) : next_(first) {}

    Handle add(std::shared_ptr<Object> object) {
        const std::scoped_lock lock(mutex_);
        next_ += kStep;
        objects_.emplace(next_, std::move(object));
        return std::bit_cast<Handle>(next_);
    }

    // Returns null if there is no such object.
    std::shared_ptr<Object> find(Handle handle) const {
        const std::scoped_lock lock(mutex_);
        const auto found = objects_.find(std::bit_cast<uint64_t>(handle));
        return found == objects_.end() ? nullptr : found->second;
    }

    // Does the same. Afterwards the handle is invalid.
    std::shared_ptr<Object> take(Handle handle) {
        const std::scoped_lock lock(mutex_);
        const auto node = objects_.extract(std::bit_cast<uint64_t>(handle));
        return node.empty() ? nullptr : std::move(node.mapped());
    }

    template <typename Predicate>
    void forget_if(Predicate predicate) {
        const std::scoped_lock lock(mutex_);
        std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
    }

  private:
    static constexpr uint64_t kStep = 16;

    mutable std::mutex mutex_;
    uint64_t next_;
    std::unordered_map<uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace pace::simulated_gpu
