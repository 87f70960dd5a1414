#include "daemon/exchange/exchange.h"

#include <algorithm>
#include <utility>

#include "daemon/exchange/run/told_numbers.h"
#include "daemon/exchange/ways/cut_way.h"
#include "daemon/exchange/ways/flow_way.h"
#include "daemon/exchange/ways/hosts_way.h"
#include "daemon/exchange/ways/kernel_way.h"
#include "daemon/exchange/ways/local_way.h"
#include "daemon/exchange/ways/nccl_way.h"

namespace pace::daemon {

using base::ErrorKind;
using base::Result;
using base::Task;

namespace {

// An exchange that has not moved for this long asks the others whether they are in the same one.
constexpr base::Duration kStallNoticeable = std::chrono::milliseconds(100);

// The last one is always open.
std::vector<std::unique_ptr<Way>> ways_of(Running& running) {
    std::vector<std::unique_ptr<Way>> ways;
    if (running.plan.is_local()) {
        ways.push_back(std::make_unique<KernelWay>(running));
        ways.push_back(std::make_unique<NcclWay>(running));
        ways.push_back(std::make_unique<LocalWay>(running));
    } else {
        ways.push_back(std::make_unique<NcclWay>(running));
        ways.push_back(std::make_unique<CutWay>(running));
        ways.push_back(std::make_unique<FlowWay>(running));
        ways.push_back(std::make_unique<HostsWay>(running));
    }
    return ways;
}

void record_end(const Services& services, const ExchangePlan& plan, uint64_t bytes,
                const Result<>& result) {
    Record record = exchange_record(RecordKind::exchange_ends, plan.job, plan.what);
    record.amount = bytes;
    record.detail_2 = result ? 0 : static_cast<uint8_t>(result.error().kind);
    services.recorder->note(record);
}

// The watch over progress sees an exchange while this exists.
class Watched {
  public:
    Watched(Actives& actives, const std::shared_ptr<Active>& exchange)
        : actives_(actives), exchange_(exchange.get()) {
        actives_.add(exchange);
    }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() { actives_.remove(exchange_); }

  private:
    Actives& actives_;
    const Active* exchange_;
};

}  // namespace

std::shared_ptr<Exchange> Exchange::start(Services& services, Plan plan, Scratch scratch,
                                          Done done) {
    std::shared_ptr<Exchange> exchange(
        new Exchange(services, std::move(plan), std::move(scratch), std::move(done)));
    const Plan& known = exchange->plan();
    services.recorder->note(exchange_record(RecordKind::exchange_begins, known.job, known.what),
                            known.nodes);
    exchange->disagreement_ = std::make_shared<Disagreement>(
        [weak = std::weak_ptr<Exchange>(exchange)](const base::Error& error) {
            if (const auto own = weak.lock()) own->abort(error);
        });
    exchange->begin();
    return exchange;
}

Exchange::Exchange(Services& services, Plan plan, Scratch scratch, Done done)
    : services_(services),
      running_(std::make_shared<Running>(services, std::move(plan), std::move(scratch))),
      ways_(ways_of(*running_)),
      done_(std::move(done)) {}

Exchange::~Exchange() = default;

// `done` is called outside of the coroutine. After a failure it is called later: the caller of
// start() has not stored the exchange yet.
void Exchange::begin() {
    self_ = shared_from_this();
    is_starting_ = true;
    const bool had_memory = base::attempt([this] {
        base::spawn<Result<>>(run(), [this](const Result<>& result) { run_ended(result); });
    });
    is_starting_ = false;
    if (!had_memory) {
        self_.reset();
        throw std::bad_alloc();
    }
    if (!at_once_) return;
    if (*at_once_) return finish(*at_once_);
    services_.loop.defer(base::keep(self_, [](Exchange& own) { own.finish(*own.at_once_); }));
}

void Exchange::run_ended(const Result<>& result) {
    if (is_starting_)
        at_once_ = result;
    else
        finish(result);
}

// --------------------------------------------------------------------------- from plan to result

Task<Result<>> Exchange::run() {
    Result<> result;
    if (plan().is_local())
        result = co_await run_here();
    else
        result = co_await run_with_others();
    if (result) result = co_await commit();
    co_return result;
}

Task<Result<>> Exchange::run_here() {
    if (plan().is_made() && plan().on_device.empty()) co_return co_await come_about();
    const Watched watched(services_.active, self_);
    co_return co_await come_about();
}

Task<Result<>> Exchange::run_with_others() {
    const Result<> joined = running_->join_nodes();
    if (!joined) co_return joined;
    const Result<> result = co_await run_watched();
    count(result);
    co_return result;
}

Task<Result<>> Exchange::run_watched() {
    const Watched watched(services_.active, self_);
    if (plan().numbers.empty()) co_return co_await come_about();
    ToldNumbers numbers(*running_->communicator, running_->plan.numbers);
    const Result<> came = co_await come_about();
    if (!came) running_->communicator->abort(came.error());
    co_await numbers.settle();
    co_return running_->communicator->status();
}

// Tries the ways, and moves the data.
Task<Result<>> Exchange::come_about() {
    for (const std::unique_ptr<Way>& way : ways_) {
        way_ = way.get();
        const Result<bool> open = co_await way_->is_open();
        if (!open) co_return open.error();
        if (!*open) continue;
        Result<> moved = co_await way_->move();
        if (!moved && way_->gives_way()) continue;
        if (!plan().is_local()) moved = co_await running_->sure(moved);
        co_return co_await way_->settle(moved);
    }
    co_return base::make_error(ErrorKind::internal, "no way is open for {}", plan().what);
}

Task<Result<>> Exchange::commit() {
    const Result<> committed = co_await way_->commit();
    running_->contents_lost = !committed;
    co_return committed;
}

void Exchange::count(const Result<>& result) const {
    const auto traffic = running_->traffic();
    services_.counters.bytes_sent += traffic.bytes_sent;
    services_.counters.bytes_received += traffic.bytes_received;
    if (!result) ++services_.counters.exchanges_aborted;
}

void Exchange::finish(const Result<>& result) {
    const std::shared_ptr<Exchange> keep = std::move(self_);
    const Done done = std::move(done_);
    ended_ = true;
    // A flat run that ends within the node ends from a poll of its own participants, which must
    // outlive that poll.
    if (running_->sparse && running_->sparse->is_flat())
        services_.loop.defer(base::keep(keep, [](const Exchange&) {}));
    ExchangeOutcome outcome = this->outcome(result);
    record_end(services_, plan(), outcome.traffic.bytes_sent, result);
    if (result) tell_whole(plan().marks);
    if (way_ != nullptr) way_->end();  // a callee may begin the next sum
    done(outcome);
}

ExchangeOutcome Exchange::outcome(const Result<>& result) {
    ExchangeOutcome outcome;
    outcome.result = result;
    outcome.plan = {running_, &running_->plan};
    outcome.traffic = running_->traffic();
    if (running_->communicator) outcome.met = running_->communicator->met();
    outcome.contents_lost = running_->contents_lost;
    outcome.unlike = unlike();
    if (running_->sparse) {
        outcome.entries = running_->sparse->report().chosen;
        outcome.hidden = running_->sparse->take_hidden();
    }
    outcome.scratch_touched = running_->scratch_touched();
    outcome.scratch = std::move(running_->scratch);
    if (result && way_ != nullptr) outcome.on_device = way_->take_result();
    return outcome;
}

// ------------------------------------------------------------------------------------ giving up

void Exchange::abort(const base::Error& error) {
    running_->abort(error);
    if (way_ == nullptr) return;
    way_->abort(error);
    way_->wake();
}

void Exchange::peer_lost(transports::PeerId peer, const base::Error& error) {
    running_->peer_lost(peer, error);
    if (way_ == nullptr) return;
    const collectives::Communicator* const nodes = running_->communicator.get();
    if (nodes != nullptr && nodes->aborted()) way_->abort(nodes->status().error());
    way_->wake();
}

// --------------------------------------------------------------------------------- what holds it
// up

// The others wait for this node, at most for the making deadline.
base::Duration Exchange::stalled_while_making(base::TimePoint now) {
    base::TimePoint last = plan().progress->moved();
    if (running_->communicator) last = std::max(last, running_->communicator->last_progress());
    if (now - last > services_.options.making_deadline && !running_->is_aborted())
        abort(base::make_error(ErrorKind::timeout,
                               "a member of its group has made nothing ready for {} ms",
                               (now - last) / std::chrono::milliseconds(1)));
    return base::Duration::zero();
}

base::Duration Exchange::stalled_for(base::TimePoint now) {
    if (!plan().is_made()) return stalled_while_making(now);
    if (!running_->communicator) return base::Duration::zero();
    const base::TimePoint busy_until =
        running_->busy_until(now, way_ != nullptr && way_->is_working());
    if (busy_until == now) return base::Duration::zero();
    if (const auto silent = way_ != nullptr ? way_->silent_since() : std::nullopt) {
        if (running_->is_aborted()) return base::Duration::zero();  // NCCL lets go in its own time
        if (now - *silent >= kStallNoticeable) ask_others();
        return way_->overdue(now);
    }
    base::TimePoint last = std::max(running_->communicator->last_progress(), busy_until);
    if (running_->sparse) last = std::max(last, running_->sparse->last_progress());
    const base::Duration stalled = now - last;
    if (stalled >= kStallNoticeable) ask_others();
    return stalled;
}

std::vector<NodeId> Exchange::waiting_for() const {
    std::vector<NodeId> nodes;
    if (!running_->communicator) return nodes;
    if (running_->sparse && running_->sparse->is_flat()) return running_->sparse->waiting_for();
    for (const size_t index : running_->communicator->waiting_for())
        nodes.push_back(plan().nodes[index]);
    return nodes;
}

std::vector<NodeId> Exchange::unheard() const {
    std::vector<NodeId> nodes;
    if (!running_->communicator) return nodes;
    for (const size_t index : running_->communicator->waiting_for()) {
        const NodeId node = plan().nodes[index];
        if (!disagreement_->has_answered(node) && !running_->communicator->heard(index))
            nodes.push_back(node);
    }
    return nodes;
}

NodeId Exchange::unlike() const {
    const collectives::Communicator* const nodes = running_->communicator.get();
    if (nodes != nullptr && nodes->unlike()) return plan().nodes[*nodes->unlike()];
    return disagreement_->unlike();
}

}  // namespace pace::daemon
