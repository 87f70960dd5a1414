#include "daemon/exchange/alike.h"

#include <algorithm>

#include "daemon/exchange/call_text.h"

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
