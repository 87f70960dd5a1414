#include "daemon/jobs/retained_buffers.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

void RetainedBuffers::keep(const Key& key, OfJob job, std::vector<BufferPtr> buffers,
                           uint64_t iteration, base::TimePoint now) {
    if (buffers.empty() || keep_for_ <= base::Duration::zero()) return;
    entries_[key] = {std::move(job), std::move(buffers), iteration, now + keep_for_};
}

RetainedBuffers::Entries::const_iterator RetainedBuffers::find(const Key& key,
                                                               base::TimePoint now) const {
    const auto entry = entries_.find(key);
    return entry != entries_.end() && entry->second.until > now ? entry : entries_.end();
}

uint64_t RetainedBuffers::iteration(const Key& key, base::TimePoint now) const {
    const auto entry = find(key, now);
    return entry == entries_.end() ? 0 : entry->second.iteration;
}

BufferPtr RetainedBuffers::take(const Key& key, protocol::DType dtype, uint64_t count,
                                const device::Device* device, base::TimePoint now,
                                const Fits& fits) {
    if (find(key, now) == entries_.end()) return nullptr;
    auto& buffers = entries_.at(key).buffers;
    const auto buffer = std::find_if(buffers.begin(), buffers.end(), [&](const BufferPtr& other) {
        const bool idle = device == nullptr || other.use_count() == 1;
        return other->dtype == dtype && other->count == count && other->device() == device &&
               idle && fits(*other);
    });
    if (buffer == buffers.end()) return nullptr;
    BufferPtr taken = *buffer;
    buffers.erase(buffer);
    if (buffers.empty()) entries_.erase(key);
    return taken;
}

RetainedBuffers::Entries::const_iterator RetainedBuffers::oldest(
    std::optional<uint32_t> user) const {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (user && entry->first.user != *user) continue;
        if (oldest == entries_.end() || entry->second.until < oldest->second.until) oldest = entry;
    }
    return oldest;
}

bool RetainedBuffers::drop_oldest(std::optional<uint32_t> user) {
    const auto entry = oldest(user);
    if (entry == entries_.end()) return false;
    entries_.erase(entry);
    return true;
}

void RetainedBuffers::drop_job(uint64_t token) {
    std::erase_if(entries_, [token](const auto& entry) { return entry.first.token == token; });
}

std::map<uint64_t, RetainedBuffers::OfJob> RetainedBuffers::jobs() const {
    std::map<uint64_t, OfJob> jobs;
    for (const auto& [key, entry] : entries_) jobs.emplace(key.token, entry.job);
    return jobs;
}

void RetainedBuffers::drop_expired(base::TimePoint now) {
    std::erase_if(entries_, [now](const auto& entry) { return entry.second.until <= now; });
}

std::optional<base::TimePoint> RetainedBuffers::next_expiry() const {
    const auto entry = oldest(std::nullopt);
    if (entry == entries_.end()) return std::nullopt;
    return entry->second.until;
}

}  // namespace pace::daemon
