#include "daemon/members/call_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pace::daemon {

namespace {

// The text names only the first of a model's many tensors.
constexpr size_t kBuffersTold = 4;

std::string buffers_text(const std::vector<BufferPtr>& buffers) {
    std::string text = fmt::format("{} buffer{} (", buffers.size(), buffers.size() == 1 ? "" : "s");
    for (size_t i = 0; i < buffers.size() && i < kBuffersTold; ++i)
        text += fmt::format("{}{} x {}", i == 0 ? "" : ", ", protocol::name_of(buffers[i]->dtype),
                            buffers[i]->count);
    return text + (buffers.size() > kBuffersTold ? ", ...)" : ")");
}

}  // namespace

std::string call_text(const Request& request) {
    std::string text(protocol::name_of(request.verb));
    if (request.verb == protocol::Verb::barrier) return text;
    if (request.verb == protocol::Verb::reduce)
        text += request.op == protocol::ReduceOp::sum ? " (sum)" : " (mean)";
    if (request.verb == protocol::Verb::broadcast)
        text += fmt::format(" from root {}", request.root);
    return text + " of " + buffers_text(request.buffers);
}

std::string caller_text(const std::string& name, const std::vector<control::Rank>& ranks) {
    if (ranks.size() == 1) return fmt::format("worker {} on node {}", ranks.front(), name);
    return fmt::format("a worker on node {} ({})", name, fmt::join(ranks, " or "));
}

}  // namespace pace::daemon
