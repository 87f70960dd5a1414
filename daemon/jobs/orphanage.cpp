#include "daemon/jobs/orphanage.h"

#include <algorithm>
#include <utility>

namespace pace::daemon {

void Orphanage::keep(const Key& key, OfJob job, std::vector<BufferPtr> buffers, uint64_t iteration,
                     base::TimePoint now) {
    if (buffers.empty() || keep_for_ <= base::Duration::zero()) return;
    estates_[key] = {std::move(job), std::move(buffers), iteration, now + keep_for_};
}

Orphanage::Estates::const_iterator Orphanage::find(const Key& key, base::TimePoint now) const {
    const auto estate = estates_.find(key);
    return estate != estates_.end() && estate->second.until > now ? estate : estates_.end();
}

uint64_t Orphanage::iteration(const Key& key, base::TimePoint now) const {
    const auto estate = find(key, now);
    return estate == estates_.end() ? 0 : estate->second.iteration;
}

BufferPtr Orphanage::take(const Key& key, protocol::DType dtype, uint64_t count,
                          const device::Device* device, base::TimePoint now) {
    if (find(key, now) == estates_.end()) return nullptr;
    auto& buffers = estates_.at(key).buffers;
    const auto buffer = std::find_if(buffers.begin(), buffers.end(), [&](const BufferPtr& other) {
        const bool idle = device == nullptr || other.use_count() == 1;
        return other->dtype == dtype && other->count == count && other->device() == device && idle;
    });
    if (buffer == buffers.end()) return nullptr;
    BufferPtr taken = *buffer;
    buffers.erase(buffer);
    if (buffers.empty()) estates_.erase(key);
    return taken;
}

Orphanage::Estates::const_iterator Orphanage::oldest(std::optional<uint32_t> user) const {
    auto oldest = estates_.end();
    for (auto estate = estates_.begin(); estate != estates_.end(); ++estate) {
        if (user && estate->first.user != *user) continue;
        if (oldest == estates_.end() || estate->second.until < oldest->second.until)
            oldest = estate;
    }
    return oldest;
}

bool Orphanage::drop_oldest(std::optional<uint32_t> user) {
    const auto estate = oldest(user);
    if (estate == estates_.end()) return false;
    estates_.erase(estate);
    return true;
}

void Orphanage::drop_job(uint64_t token) {
    std::erase_if(estates_, [token](const auto& entry) { return entry.first.token == token; });
}

std::map<uint64_t, Orphanage::OfJob> Orphanage::jobs() const {
    std::map<uint64_t, OfJob> jobs;
    for (const auto& [key, estate] : estates_) jobs.emplace(key.token, estate.job);
    return jobs;
}

void Orphanage::drop_expired(base::TimePoint now) {
    std::erase_if(estates_, [now](const auto& entry) { return entry.second.until <= now; });
}

std::optional<base::TimePoint> Orphanage::next_expiry() const {
    const auto estate = oldest(std::nullopt);
    if (estate == estates_.end()) return std::nullopt;
    return estate->second.until;
}

}  // namespace pace::daemon
