#include "daemon/families/groups/group.h"

#include <algorithm>
#include <map>
#include <optional>

namespace pace::daemon {

namespace {

// A fact that the order says of each of these nodes, in their order.
std::vector<uint32_t> of_nodes(const control::GroupOrder& order, const std::vector<NodeId>& nodes,
                               uint32_t control::Part::*fact) {
    std::vector<uint32_t> facts;
    for (const NodeId node : nodes) {
        const auto first =
            std::find_if(order.members.begin(), order.members.end(),
                         [node](const control::Part& part) { return part.node == node; });
        facts.push_back((*first).*fact);
    }
    return facts;
}

// Equal weights are applied as one division at the end: fewer roundings, and a sum without
// multiplications.
bool weights_are_equal(const control::GroupOrder& order) {
    if (order.initial_weight != 0) return false;
    const double first = order.members.front().weight;
    return std::all_of(order.members.begin(), order.members.end(),
                       [first](const control::Part& part) { return part.weight == first; });
}

size_t most_on_a_node(const control::GroupOrder& order) {
    std::map<NodeId, size_t> counts;
    size_t most = 0;
    for (const control::Part& part : order.members) most = std::max(most, ++counts[part.node]);
    return most;
}

// Where the layout's segments are in memory that holds them one after the other.
std::vector<const std::byte*> segments_of(const Scratch& memory,
                                          const collectives::Layout& layout) {
    std::vector<const std::byte*> segments;
    for (size_t i = 0; i < layout.segments().size(); ++i)
        segments.push_back(memory.data() + layout.offset(i));
    return segments;
}

// Null if the calls had no order: then nothing travels in pieces, at any node.
std::shared_ptr<collectives::Progress> progress_of(const Group& group,
                                                   const collectives::Layout& layout) {
    const protocol::Order order = group.members.front()->head().order;
    if (order == protocol::Order::all_at_once) return nullptr;
    return std::make_shared<collectives::Progress>(order, layout, least_ready(group.members));
}

void plan_nodes(const JobState& job, const control::GroupOrder& order, Exchange::Plan& ret_plan) {
    ret_plan.nodes = nodes_of(order);
    ret_plan.zones = of_nodes(order, ret_plan.nodes, &control::Part::zone);
    ret_plan.nccl = of_nodes(order, ret_plan.nodes, &control::Part::nccl);
    ret_plan.self = static_cast<size_t>(
        std::find(ret_plan.nodes.begin(), ret_plan.nodes.end(), job.services.self) -
        ret_plan.nodes.begin());
}

void plan_members(const JobState& job, const Group& group, bool equal, Exchange::Plan& ret_plan) {
    std::optional<size_t> apart;  // the first that has its result in other buffers
    size_t next = 0;
    for (const control::Part& part : group.order.members) {
        if (part.node != job.services.self) continue;
        const Request& request = group.members[next++]->head();
        const double weight = equal ? 1.0 : part.weight;
        ret_plan.contributions.push_back({segments_of(request.buffers), weight});
        if (request.contents) ret_plan.on_device.push_back({request.contents, weight});
        ret_plan.keep.insert(ret_plan.keep.end(), request.buffers.begin(), request.buffers.end());
        ret_plan.recipients.push_back(request.destination());
        ret_plan.marks.push_back(request.mark);
        if (!request.results.empty() && !apart) apart = ret_plan.recipients.size() - 1;
    }
    if (apart && ret_plan.may_form_at(*apart)) ret_plan.formed_by = apart;
}

}  // namespace

std::vector<NodeId> nodes_of(const control::GroupOrder& order) {
    std::vector<NodeId> nodes;
    for (const control::Part& part : order.members) {
        if (std::find(nodes.begin(), nodes.end(), part.node) == nodes.end())
            nodes.push_back(part.node);
    }
    return nodes;
}

uint64_t least_ready(const std::vector<WorkerPtr>& members) {
    uint64_t least = members.front()->head().ready;
    for (const WorkerPtr& member : members) least = std::min(least, member->head().ready);
    return least;
}

bool plan_group(const JobState& job, const Group& group, Exchange::Plan& ret_plan) {
    const control::GroupOrder& order = group.order;
    const std::vector<BufferPtr>& buffers = group.members.front()->head().buffers;
    ret_plan.job = job.id;
    ret_plan.hold = job.hold;
    ret_plan.what = fmt::format("group {}", order.group);
    ret_plan.patient = false;
    ret_plan.number = group.number;
    plan_nodes(job, order, ret_plan);
    ret_plan.check = order.digest;
    ret_plan.layout = layout_of(buffers);
    const bool equal = weights_are_equal(order);
    if (equal) ret_plan.scale = order.members.front().weight;
    plan_members(job, group, equal, ret_plan);
    if (equal) ret_plan.make_room(most_on_a_node(order));
    ret_plan.progress = progress_of(group, ret_plan.layout);
    if (order.initial_weight == 0 || ret_plan.self != 0) return true;
    // The first node contributes the initial model.
    if (!job.has_initial(buffers)) return false;
    ret_plan.keep_memory = job.initial.memory;
    ret_plan.contributions.push_back(
        {segments_of(*job.initial.memory, ret_plan.layout), order.initial_weight});
    return true;
}

void wait_for_group(Worker& worker) {
    const Request& head = worker.head();
    worker.average_digest = head.digest;
    worker.state = Worker::State::ready;
    // The buffers hold the model, even if it was not broadcast: the worker's daemon may have been
    // restarted.
    if (worker.model.empty()) worker.model = head.buffers;
}

void end_calls(JobState& job, const Group& group, const base::Error& error) {
    for (const WorkerPtr& worker : group.members)
        if (worker->port != nullptr) job.end_head(worker, failed(error));
}

void ask_for_place(JobState& job, const WorkerPtr& worker) {
    worker->state = Worker::State::idle;
    job.port->advance(worker);
}

std::vector<control::Rank> not_called_here(const JobState& job,
                                           const std::vector<control::Rank>& ranks) {
    std::vector<control::Rank> missing;
    for (const control::Rank rank : ranks) {
        if (job.view.node_of(rank) != job.services.self) continue;
        const WorkerPtr member = job.find(rank);
        const bool has_called = member && (member->state == Worker::State::ready ||
                                           member->state == Worker::State::moving);
        if (!has_called) missing.push_back(rank);
    }
    return missing;
}

}  // namespace pace::daemon
