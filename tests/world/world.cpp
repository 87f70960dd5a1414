#include "tests/world/world.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "protocol/control_codec.h"
#include "tests/world/clients/client_trainer.h"
#include "tests/world/engine_trainer.h"

namespace pace::world {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// The time of one round of all processes.
constexpr Duration kRoundTakes = microseconds(5);
// After the last fault: how long until everybody has made some more steps. The longest deadlines
// are a call's ten seconds and a node's exclusion; sequences of them take a few times as long.
constexpr Duration kGoesOnWithin = seconds(60);
constexpr uint64_t kStepsMore = 5;
// Longer than what is kept for a while: buffers of dead trainers, and jobs without workers.
constexpr Duration kForgottenWithin = 3 * kKeptFor;
// A node that was out of a view may keep what its peers have sent for it. The transport bounds that
// for each peer.
constexpr uint64_t kMessagesLeftMax = 100;
// A guess: how many buffers of its model's size a worker needs at once, and each job of a machine
// besides.
constexpr uint64_t kBuffersMax = 6;

std::filesystem::path new_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "pace-world-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) return {};
    return name;
}

int64_t open_descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
}

std::string body_of(std::span<const std::byte> message) {
    const auto* envelope = protocol::control::GetEnvelope(message.data());
    return protocol::control::EnumNameBody(envelope->body_type());
}

// The contents of a message about views, for a person who looks at one run.
std::string view_text(std::span<const std::byte> message) {
    const auto* envelope = protocol::control::GetEnvelope(message.data());
    if (const auto* commit = envelope->body_as_CommitView())
        return fmt::format("CommitView {} from round {}, {} members, {} behind", commit->epoch(),
                           commit->base_round(),
                           commit->members() != nullptr ? commit->members()->size() : 0,
                           commit->behind() != nullptr ? commit->behind()->size() : 0);
    if (const auto* prepare = envelope->body_as_PrepareView())
        return fmt::format("PrepareView {}", prepare->epoch());
    if (const auto* prepared = envelope->body_as_ViewPrepared())
        return fmt::format("ViewPrepared {}, {} rounds completed", prepared->epoch(),
                           prepared->completed());
    return {};
}

}  // namespace

World::World(const Plan& plan)
    : plan_(plan),
      time_(plan.seed),
      clockwork_(plan.seed),
      ledger_(clockwork_),
      machines_(clockwork_, plan.machines),
      ways_(clockwork_, machines_),
      network_(plan.seed, &ways_),
      board_(clockwork_, machines_,
             [this](const char* when, std::span<const std::byte> message, MachineId from,
                    MachineId to) { return at_message(when, message, from, to); }),
      controller_(clockwork_, machines_, board_,
                  [this](const char* when) {
                      return at_point(fmt::format("{} a record", when), machines_.controllers());
                  }),
      folder_(new_folder()),
      files_(clockwork_, ledger_, folder_.string(), plan.machines,
             [this](const char* point, MachineId machine) { return at_file_step(point, machine); }),
      hosts_(plan.machines) {
    MachineId machine = 0;
    for (const auto& job : plan_.jobs)
        for (uint32_t rank = 0; rank < job.world; ++rank)
            trainers_.push_back(new_trainer(job, rank, machine++ % plan.machines));
}

std::unique_ptr<Trainer> World::new_trainer(const protocol::JobOptions& job, uint32_t rank,
                                            MachineId machine) {
    if (!plan_.clients)
        return std::make_unique<EngineTrainer>(clockwork_, ledger_, *this, job, rank, machine);
    return std::make_unique<ClientTrainer>(clockwork_, ledger_, *this, machines_, processes_, job,
                                           rank, machine, socket_of(machine));
}

std::string World::socket_of(MachineId machine) const {
    return folder_ / fmt::format("machine{}.sock", machine);
}

World::~World() {
    for (auto& trainer : trainers_) trainer->daemon_dies();
    for (MachineId machine = 0; machine < hosts_.size(); ++machine) hosts_[machine] = {};
    trainers_.clear();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

// A daemon says that a shard is saved: nothing may take it any more.
void World::check_saved(MachineId machine, const protocol::control::ServerSaved& saved) {
    if (saved.failure() != nullptr && saved.failure()->size() > 0) return;
    if (files_.may_lose(machine, {saved.generation(), saved.position(), 1, saved.shard()}))
        ledger_.wrong(
            fmt::format("machine {} has said that shard {} is saved at position {}, but "
                        "a power cut could take it",
                        machine, saved.shard(), saved.position()));
}

bool World::at_message(const char* when, std::span<const std::byte> message, MachineId from,
                       MachineId to) {
    const bool is_before = *when == 'b';
    if (is_before && ledger_.tells())
        if (const auto text = view_text(message); !text.empty())
            ledger_.tell("machine {} to {}: {}", from, to, text);
    if (const auto* saved = protocol::control::GetEnvelope(message.data())->body_as_ServerSaved();
        saved != nullptr && is_before)
        check_saved(from, *saved);
    return at_point(fmt::format("{} {}", when, body_of(message)), from);
}

// ---------------------------------------------------------------------------------- a run's course

Report World::run() {
    const TimePoint began = clockwork_.now();
    controller_.start();
    for (MachineId machine = 0; machine < hosts_.size(); ++machine) start_daemon(machine);
    for (const auto& trainer : trainers_) trainer->begin();
    for (const Fault& fault : plan_.faults)
        if (fault.point.empty()) clockwork_.after(fault.at, [this, fault] { cause(fault); });
    play(began + plan_.faulty);
    heal();
    demand_progress();
    if (ledger_.wrongs().empty()) demand_nothing_retained();
    Report report;
    report.wrongs = ledger_.wrongs();
    report.calls = ledger_.calls();
    report.faults = ledger_.faults();
    report.hash = ledger_.hash();
    report.lasted = clockwork_.now() - began;
    report.points = points_;
    report.notes = controller_.notes();
    return report;
}

void World::play(TimePoint until) {
    while (clockwork_.now() < until && ledger_.wrongs().empty()) {
        if (step())
            clockwork_.advance(clockwork_.now() + kRoundTakes);
        else
            clockwork_.advance(
                std::min(until, std::max(next_time(), clockwork_.now() + microseconds(1))));
    }
}

// One round: what is due, and one turn of every process, in an order that the seed chooses.
bool World::step() {
    bool worked = clockwork_.run_due();
    std::vector<MachineId> order(hosts_.size() + 1);
    for (MachineId machine = 0; machine < order.size(); ++machine) order[machine] = machine;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[clockwork_.below(i)]);
    for (const MachineId machine : order) {
        if (machine == machines_.controllers()) {
            worked = controller_.turn() || worked;
        } else if (runs(machine) && hosts_[machine].daemon) {
            hosts_[machine].stirred = hosts_[machine].daemon->turn() || hosts_[machine].stirred;
            worked = hosts_[machine].stirred || worked;
        }
        for (const Fault& fault : std::exchange(due_, {})) cause(fault);
    }
    look_at_trainers();
    if (!controller_.broken().empty()) ledger_.wrong(controller_.broken());
    return worked;
}

void World::look_at_trainers() {
    if (plan_.clients)
        for (const auto& trainer : trainers_) trainer->look(hosts_[trainer->machine()].stirred);
    for (Host& host : hosts_) host.stirred = false;
}

TimePoint World::next_time() const {
    TimePoint next = TimePoint::max();
    if (const auto task = clockwork_.next()) next = std::min(next, *task);
    if (const auto arrival = network_.next_arrival()) {
        if (*arrival > clockwork_.now()) next = std::min(next, *arrival);
    }
    if (const auto arrival = board_.next_arrival()) {
        if (*arrival > clockwork_.now()) next = std::min(next, *arrival);
    }
    if (const auto timer = controller_.next_timer())
        next = std::min(next, machines_.at_home(machines_.controllers(), *timer));
    for (MachineId machine = 0; machine < hosts_.size(); ++machine) {
        const auto& daemon = hosts_[machine].daemon;
        if (!daemon || daemon->frozen() || !runs(machine)) continue;
        if (const auto timer = daemon->next_timer())
            next = std::min(next, machines_.at_home(machine, *timer));
    }
    if (plan_.clients)
        for (const auto& trainer : trainers_)
            if (const auto timer = trainer->next_timer())
                next = std::min(next, machines_.at_home(trainer->machine(), *timer));
    return next;
}

void World::heal() {
    healed_ = true;
    for (const auto& undo : std::exchange(undos_, {}))
        if (const auto work = std::exchange(*undo, {})) work();
    if (!controller_.alive()) controller_.start();
    for (MachineId machine = 0; machine < hosts_.size(); ++machine)
        if (!hosts_[machine].daemon) start_daemon(machine);
    for (const auto& trainer : trainers_) trainer->begin();
}

void World::demand_progress() {
    std::vector<uint64_t> before;
    for (const auto& trainer : trainers_) before.push_back(trainer->steps());
    const auto goes_on = [&] {
        for (size_t i = 0; i < trainers_.size(); ++i)
            if (trainers_[i]->steps() < before[i] + kStepsMore) return false;
        return true;
    };
    const TimePoint deadline = clockwork_.now() + kGoesOnWithin;
    while (!goes_on() && clockwork_.now() < deadline && ledger_.wrongs().empty())
        play(clockwork_.now() + milliseconds(100));
    if (ledger_.wrongs().empty() && goes_on()) demand_little_memory();
    if (!ledger_.wrongs().empty() || goes_on()) return;
    std::string text = fmt::format("not everybody goes on {:.0f} s after the last fault:",
                                   base::to_seconds(kGoesOnWithin));
    for (size_t i = 0; i < trainers_.size(); ++i)
        text += fmt::format("\n        {} ({} steps more)", trainers_[i]->doing(),
                            trainers_[i]->steps() - before[i]);
    ledger_.wrong(text);
}

// What jobs need must not grow with their steps, nor with workers of other machines.
void World::demand_little_memory() {
    std::vector<uint64_t> most(hosts_.size());
    std::set<std::pair<MachineId, std::string>> jobs;
    for (const auto& trainer : trainers_) {
        const bool is_first = jobs.emplace(trainer->machine(), trainer->job().name).second;
        most[trainer->machine()] += (is_first ? 2 : 1) * kBuffersMax * trainer->model_bytes();
        most[trainer->machine()] += trainer->session_bytes();
    }
    for (MachineId machine = 0; machine < hosts_.size(); ++machine) {
        const uint64_t bytes = hosts_[machine].daemon->services().accounts->bytes_used();
        if (bytes > most[machine])
            ledger_.wrong(
                fmt::format("machine {} charges {} bytes, more than the {} that its "
                            "workers may need",
                            machine, bytes, most[machine]));
    }
}

void World::demand_nothing_retained() {
    for (const auto& trainer : trainers_) trainer->end(true);
    play(clockwork_.now() + kForgottenWithin);
    for (MachineId machine = 0; machine < hosts_.size(); ++machine) {
        DaemonProcess& daemon = *hosts_[machine].daemon;
        if (daemon.engine().jobs() != 0)
            ledger_.wrong(
                fmt::format("machine {} still has {} jobs", machine, daemon.engine().jobs()));
        if (const uint64_t bytes = daemon.services().accounts->bytes_used(); bytes != 0)
            ledger_.wrong(fmt::format("machine {} still charges {} bytes", machine, bytes));
        if (const auto left = daemon.transport().counters().messages_unexpected;
            left > kMessagesLeftMax)
            ledger_.wrong(fmt::format("machine {} still keeps {} messages", machine, left));
        if (daemon.clients() != 0)
            ledger_.wrong(
                fmt::format("machine {} still has {} clients", machine, daemon.clients()));
        if (!daemon.attached()) ledger_.wrong(fmt::format("machine {} is not attached", machine));
    }
    if (controller_.core().jobs() != 0)
        ledger_.wrong(fmt::format("the controller still has {} jobs", controller_.core().jobs()));
}

Report run(const Plan& plan) {
    const auto before = open_descriptors();
    Report report;
    {
        World world(plan);
        report = world.run();
    }
    if (const auto after = open_descriptors(); after != before)
        report.wrongs.push_back(
            fmt::format("{} descriptors are open at the end, {} were at the begin", after, before));
    return report;
}

}  // namespace pace::world
