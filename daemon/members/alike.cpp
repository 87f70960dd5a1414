#include "daemon/members/alike.h"

#include <algorithm>

#include "daemon/members/call_text.h"

namespace pace::daemon {

bool are_alike(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [](const BufferPtr& one, const BufferPtr& other) {
                          return one->dtype == other->dtype && one->count == other->count;
                      });
}

bool fit(const std::vector<BufferPtr>& buffers, const collectives::Layout& layout) {
    const auto& segments = layout.segments();
    return std::equal(buffers.begin(), buffers.end(), segments.begin(), segments.end(),
                      [](const BufferPtr& buffer, const collectives::Segment& segment) {
                          return buffer->dtype == segment.dtype && buffer->count == segment.count;
                      });
}

std::vector<BufferPtr> model_in(const std::vector<BufferPtr>& held,
                                const std::vector<BufferPtr>& model) {
    if (held.size() < model.size()) return model;
    std::vector<BufferPtr> first(held.begin(), held.begin() + static_cast<ptrdiff_t>(model.size()));
    return are_alike(first, model) ? first : model;
}

bool do_meet(const std::vector<BufferPtr>& some, const std::vector<BufferPtr>& others) {
    return std::any_of(some.begin(), some.end(), [&](const BufferPtr& one) {
        return std::any_of(others.begin(), others.end(),
                           [&](const BufferPtr& other) { return do_meet(*one, *other); });
    });
}

void note_model(Worker& worker) {
    const Request& head = worker.head();
    if (head.verb == protocol::Verb::broadcast) {
        worker.model = head.buffers;
        worker.lacks_model = false;
    }
    if (head.out_of_place && head.verb != protocol::Verb::reduce)
        worker.model = model_in(head.destination(), worker.model);
}

void note_age(Worker& worker) {
    const Request& head = worker.head();
    const auto is_named = [&head](const BufferPtr& buffer) {
        return !buffer->copied || std::ranges::any_of(head.buffers, [&](const BufferPtr& named) {
            return do_meet(*buffer, *named);
        });
    };
    const bool names_model = std::ranges::all_of(worker.model, is_named);
    if (names_model) worker.model_is_old = false;
    if (!names_model && head.verb == protocol::Verb::reduce) worker.model_is_old = true;
}

base::Error old_model() {
    return base::make_error(base::ErrorKind::not_found,
                            "the model is in memory of its trainer's own (PACE_POINTER) that its "
                            "calls do not name");
}

bool are_alike(const Request& one, const Request& other) {
    return one.verb == other.verb && one.op == other.op && one.root == other.root &&
           one.order == other.order && are_alike(one.buffers, other.buffers);
}

WorkerPtr first_unlike(const std::vector<WorkerPtr>& workers) {
    for (const WorkerPtr& worker : workers)
        if (!are_alike(worker->head(), workers.front()->head())) return worker;
    return nullptr;
}

base::Error unlike_calls(const Worker& one, const Worker& other) {
    return base::make_error(base::ErrorKind::mismatch, "worker {} called {} and worker {} {}: {}",
                            one.rank, call_text(one.head()), other.rank, call_text(other.head()),
                            kCallAlike);
}

}  // namespace pace::daemon
