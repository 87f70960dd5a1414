#include "daemon/server/shard.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>

#include "daemon/kernels/reduce.h"

namespace pace::server {

using base::ErrorKind;
using base::Result;

Result<Shard> Shard::create(size_t count) {
    try {
        return Shard(count);
    } catch (const std::exception&) {  // bad_alloc; or length_error, if it exceeds all memory
        return base::make_error(ErrorKind::memory,
                                "there is no memory for the {} elements of a shard of a model",
                                count);
    }
}

void Shard::hold(uint32_t rank, uint64_t clock, Update update) {
    const auto late = late_.find({rank, clock});
    if (late == late_.end()) {
        held_.insert_or_assign({rank, clock}, std::move(update));
        return;
    }
    take_late(late->second, *update);
    late_.erase(late);
}

Result<> Shard::act(const Entry& entry) {
    switch (entry.step) {
        case Step::assign:
            return assign(entry);
        case Step::push:
            PACE_TRY(push(entry));
            break;
        case Step::leave:
            // The worker's updates that are not ordered yet will never be ordered.
            held_.erase(held_.lower_bound({entry.rank, 0}), held_.lower_bound({entry.rank + 1, 0}));
            late_.erase(late_.lower_bound({entry.rank, 0}), late_.lower_bound({entry.rank + 1, 0}));
            break;
        case Step::pull:
        case Step::join:
        case Step::checkpoint:
            break;
    }
    for (const uint64_t expired : entry.expired) expire(expired);
    return {};
}

// A missing version was discarded by an assignment.
void Shard::expire(uint64_t number) {
    const auto version = versions_.find(number);
    if (version == versions_.end()) return;
    for (auto& [key, late] : late_)
        if (late.version == number) late.rate = version->second.rate;
    version->second.sum.settle();
    version->second.sum.add_to(base_, version->second.rate);
    versions_.erase(version);
}

void Shard::restore(Shard saved, const std::map<uint64_t, uint64_t>& live) {
    base_ = std::move(saved.base_);
    versions_ = std::move(saved.versions_);
    std::vector<uint64_t> over;
    for (const auto& [number, version] : versions_)
        if (!live.contains(number)) over.push_back(number);
    for (const uint64_t number : over) expire(number);
}

Result<> Shard::assign(const Entry& entry) {
    const auto model = models_held_.find(entry.clock);
    if (model == models_held_.end() || model->second.size() != base_.size())
        return base::make_error(ErrorKind::internal,
                                "position {} makes the model of round {} that of a shard of {} "
                                "elements, which has it not",
                                entry.position, entry.clock, base_.size());
    base_ = std::move(model->second);
    models_held_.erase(models_held_.begin(), std::next(model));
    versions_.clear();
    for (auto& [key, late] : late_) late.is_void = true;
    return {};
}

void Shard::take_late(const Late& late, const HybridVector& update) {
    if (late.is_void) return;
    const auto version = versions_.find(late.version);
    if (version == versions_.end()) {
        update.add_to(base_, late.rate);
    } else {
        version->second.sum.add(update);
    }
}

void Shard::push_late(const Entry& entry, bool at_once) {
    late_[{entry.rank, entry.clock}] = {entry.version, entry.rate};
    const auto version = versions_.find(entry.version);
    if (version != versions_.end()) {
        version->second.rate = entry.rate;
    } else if (!at_once) {
        versions_.emplace(entry.version, Version{HybridVector(count()), entry.rate});
    }
}

Result<> Shard::push(const Entry& entry) {
    const auto update = held_.find({entry.rank, entry.clock});
    const bool at_once = entry.expired.size() == 1 && entry.expired.front() == entry.version;
    if (update == held_.end() && may_be_late_) {
        push_late(entry, at_once);
        return {};
    }
    if (update == held_.end())
        return base::make_error(ErrorKind::internal,
                                "position {} names the update of rank {} of clock {}, which is not "
                                "here",
                                entry.position, entry.rank, entry.clock);
    const auto version = versions_.find(entry.version);
    if (version == versions_.end() && at_once) {
        update->second->add_to(base_, entry.rate);
    } else if (version == versions_.end()) {
        versions_.emplace(entry.version, Version{*update->second, entry.rate});
    } else {
        version->second.sum.add(*update->second);
        version->second.rate = entry.rate;
    }
    held_.erase(update);
    return {};
}

void Shard::settle() {
    for (auto& [number, version] : versions_) version.sum.settle();
}

// Consecutive dense versions are added in one pass.
void Shard::read(size_t first, std::span<float> out) const {
    if (out.empty()) return;
    auto* const bytes = reinterpret_cast<std::byte*>(out.data());
    const auto source = [first](std::span<const float> elements, double rate) {
        return kernels::Source{reinterpret_cast<const std::byte*>(elements.data() + first), rate};
    };
    std::vector<kernels::Source> sources{source(base_, 1.0)};
    const auto add_up = [&] {
        // The base alone is copied, because a sum would lose the payload of NaNs.
        if (sources.size() == 1)
            std::memcpy(bytes, sources.front().data, out.size_bytes());
        else
            kernels::weighted_sum(protocol::DType::f32, sources, 1.0, bytes, out.size());
        sources = {{bytes, 1.0}};
    };
    for (const auto& [number, version] : versions_) {
        if (version.sum.is_dense()) {
            sources.push_back(source(version.sum.elements(), version.rate));
            continue;
        }
        if (sources.size() > 1 || sources.front().data != bytes) add_up();
        version.sum.add_to(out, version.rate, first);
    }
    if (sources.size() > 1 || sources.front().data != bytes) add_up();
}

Shard::Memory Shard::memory() const {
    Memory memory;
    memory.model = base_.size() * sizeof(float);
    for (const auto& [number, version] : versions_) memory.versions += version.sum.bytes();
    for (const auto& [key, update] : held_) memory.held += update->bytes();
    return memory;
}

}  // namespace pace::server
