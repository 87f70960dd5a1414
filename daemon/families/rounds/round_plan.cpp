#include "daemon/families/rounds/round_plan.h"

#include <algorithm>
#include <utility>

#include "daemon/members/digest.h"

namespace pace::daemon {

using protocol::Verb;

namespace {

Exchange::Kind kind_of(Verb verb) {
    if (verb == Verb::barrier) return Exchange::Kind::barrier;
    return verb == Verb::broadcast ? Exchange::Kind::broadcast : Exchange::Kind::reduce;
}

}  // namespace

uint64_t round_number(const JobState& job, uint64_t round) {
    return exchange_number(job.token, ExchangeKind::round, job.view.epoch, round);
}

uint64_t fetch_number(const JobState& job, ExchangeKind kind, NodeId fetcher) {
    return exchange_number(job.token, kind, job.view.epoch, fetcher);
}

uint64_t hidden_number(const JobState& job, NodeId fetcher, uint64_t part) {
    return part_number(fetch_number(job, ExchangeKind::hidden, fetcher), part);
}

std::vector<uint64_t> numbers_left(const JobState& job, uint64_t epoch, uint64_t completed) {
    const auto number = [&](ExchangeKind kind, uint64_t second) {
        return exchange_number(job.token, kind, epoch, second);
    };
    const NodeId self = job.services.self;
    std::vector<uint64_t> numbers{number(ExchangeKind::fetch, self)};
    for (const uint64_t round : {completed, completed + 1}) {
        const uint64_t dense = number(ExchangeKind::round, round);
        numbers.insert(numbers.end(), {dense, number(ExchangeKind::flat, dense),
                                       number(ExchangeKind::partial, round),
                                       number(ExchangeKind::partial_data, round)});
    }
    const uint64_t hidden = number(ExchangeKind::hidden, self);
    numbers.insert(numbers.end(), {number(ExchangeKind::fetch_told, self), part_number(hidden, 0),
                                   part_number(hidden, 1)});
    return numbers;
}

bool is_mean(const Request& request) {
    return request.verb == Verb::sync ||
           (request.verb == Verb::reduce && request.op == protocol::ReduceOp::mean);
}

std::shared_ptr<MemberList> members_of(const View& view, const Request& request) {
    auto members = std::make_shared<MemberList>();
    members->reserve(view.members.size());
    const double share = is_mean(request) ? 1.0 / static_cast<double>(view.members.size()) : 1.0;
    for (const control::Member& member : view.members) {
        const bool gives = request.verb != Verb::broadcast || member.rank == request.root;
        const double weight = gives && request.verb != Verb::barrier ? share : 0.0;
        members->push_back({member.rank, 0, 0, weight});
    }
    return members;
}

Exchange::Plan plan_round(JobState& job, uint64_t round, const std::vector<WorkerPtr>& members) {
    const Request& first = members.front()->head();
    Exchange::Plan plan;
    plan.kind = kind_of(first.verb);
    plan.job = job.id;
    plan.hold = job.hold;
    plan.what = fmt::format("round {}", round);
    plan.number = round_number(job, round);
    plan.check = check_of(first);
    plan.nodes = job.view.nodes();
    plan.zones = job.view.zones();
    plan.nccl = job.view.nccl();
    const auto index_of = [&plan](NodeId node) {
        return static_cast<size_t>(std::find(plan.nodes.begin(), plan.nodes.end(), node) -
                                   plan.nodes.begin());
    };
    plan.self = index_of(job.services.self);
    if (first.verb == Verb::broadcast) plan.root = index_of(job.view.node_of(first.root));
    if (is_mean(first)) plan.scale = 1.0 / static_cast<double>(job.view.members.size());
    plan.layout = layout_of(first.buffers);
    for (const WorkerPtr& worker : members) {
        const Request& request = worker->head();
        const bool is_root = worker->rank == request.root;
        if (first.verb != Verb::broadcast || is_root) {
            plan.contributions.push_back({segments_of(request.buffers), 1.0});
            if (request.contents) plan.on_device.push_back({request.contents, 1.0});
            plan.keep.insert(plan.keep.end(), request.buffers.begin(), request.buffers.end());
        }
        if (first.verb == Verb::broadcast && is_root) continue;
        plan.recipients.push_back(request.destination());
        plan.marks.push_back(request.mark);
    }
    if (first.verb == Verb::broadcast) leave_copy(job, plan, first);
    return plan;
}

void leave_copy(JobState& job, Exchange::Plan& ret_plan, const Request& broadcast) {
    ret_plan.keep_memory = job.place_for_initial(ret_plan.layout);
    if (ret_plan.keep_memory) {
        for (size_t i = 0; i < ret_plan.layout.segments().size(); ++i)
            ret_plan.copy_to.push_back(ret_plan.keep_memory->data() + ret_plan.layout.offset(i));
        return;
    }
    ret_plan.keep_memory = job.port->place_for_model(broadcast.buffers);
    if (!ret_plan.keep_memory) return;
    std::byte* place = ret_plan.keep_memory->data();
    for (const BufferPtr& buffer : broadcast.buffers) {
        ret_plan.copy_to.push_back(place);
        place += buffer->count * sizeof(float);
    }
}

Exchange::Plan plan_fetch(const JobState& job, uint64_t round, ExchangeKind kind, NodeId donor,
                          uint32_t check, collectives::Layout layout) {
    Exchange::Plan plan;
    plan.kind = Exchange::Kind::fetch;
    plan.job = job.id;
    plan.hold = job.hold;
    plan.what = fmt::format("the result of round {}", round);
    plan.number = fetch_number(job, kind, job.services.self);
    plan.check = check;
    plan.nodes = {donor, job.services.self};
    plan.self = 1;
    plan.layout = std::move(layout);
    return plan;
}

}  // namespace pace::daemon
