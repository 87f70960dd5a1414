#include "daemon/families/serving/given_model.h"

#include <algorithm>
#include <span>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/members/model_range.h"
#include "daemon/runtime/memory_room.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using server::Letter;
using server::LetterKind;

bool GivenModel::is_model(const std::vector<BufferPtr>& buffers) const {
    uint64_t elements = 0;
    for (const BufferPtr& buffer : buffers) {
        if (buffer->dtype != protocol::DType::f32) return false;
        elements += buffer->count;
    }
    return elements == job_.options.elements;
}

std::shared_ptr<Scratch> GivenModel::place() const {
    if (!gives_any()) return nullptr;
    auto place = std::make_shared<Scratch>();
    const size_t bytes = job_.options.elements * sizeof(float);
    const bool has_room =
        check_memory_room("a model", bytes, memory_room()) && place->reserve(bytes, job_.payer());
    return has_room ? place : nullptr;
}

Result<> GivenModel::has_room(const std::shared_ptr<Scratch>& copy) const {
    const size_t bytes = job_.options.elements * sizeof(float);
    if (copy || !gives_any() || job_.services.aside().is_little(2 * bytes)) return {};
    return base::make_error(ErrorKind::memory,
                            "there is no room for a copy of the {} bytes of a model", bytes);
}

// Every node with a worker has the model. The first of them sends it to nodes that keep shards and
// have no worker.
bool GivenModel::gives(uint32_t shard) const {
    if (host_.keeps(shard)) return true;
    const std::vector<NodeId> nodes = job_.view.nodes();
    const NodeId node = host_.places()[shard];
    return !nodes.empty() && nodes.front() == job_.services.self &&
           std::find(nodes.begin(), nodes.end(), node) == nodes.end();
}

bool GivenModel::gives_any() const {
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard)
        if (gives(shard)) return true;
    return false;
}

Result<> GivenModel::give(uint64_t round, const std::vector<BufferPtr>& buffers,
                          const std::shared_ptr<Scratch>& copy) {
    for (uint32_t shard = 0; shard < host_.places().size(); ++shard) {
        if (!gives(shard)) continue;
        server::Floats model = part_of(shard, buffers, copy);
        if (!host_.keeps(shard))
            send(shard, round, model);
        else if (auto held = host_.hold_model(shard, round, std::move(model)); !held)
            return held;
    }
    return {};
}

server::Floats GivenModel::part_of(uint32_t shard, const std::vector<BufferPtr>& buffers,
                                   const std::shared_ptr<Scratch>& copy) const {
    const server::Range range = host_.partition().range(shard);
    if (copy) {
        const auto* const all = reinterpret_cast<const float*>(copy->data());
        return {copy, std::span(all, job_.options.elements).subspan(range.begin, range.size())};
    }
    std::vector<float> elements(range.size());
    read_range(buffers, range.begin, elements);
    return server::Floats::of(std::move(elements));
}

void GivenModel::send(uint32_t shard, uint64_t round, const server::Floats& model) {
    Letter letter;
    letter.kind = LetterKind::model;
    letter.shard = shard;
    letter.generation = host_.generation();
    letter.clock = round;
    const auto bytes = server::name_elements(model.elements, letter);
    mail_.send(host_.places()[shard], letter, {model.keep, bytes});
}

void GivenModel::assign(uint64_t round) {
    // If it were said again, it would mean a model that no node holds any more.
    if (assigned_ && round <= *assigned_) return;
    assigning_ = round;
    tell_again();
}

void GivenModel::tell_again() const {
    if (!assigning_) return;
    job_.services.control.send(control::ServerAssigned{job_.id, host_.generation(), *assigning_});
}

void GivenModel::assigned(uint64_t round) {
    assigned_ = std::max(round, assigned_.value_or(round));
    if (assigning_ && round >= *assigning_) assigning_.reset();
}

void GivenModel::begin_anew() {
    assigning_.reset();
    assigned_.reset();
}

}  // namespace pace::daemon
