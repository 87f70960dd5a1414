#include "tests/world/plan.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/random.h"
#include "tests/world/clockwork.h"
#include "tests/world/disks/files.h"

namespace pace::world {

using base::Duration;
using base::Random;
using protocol::JobOptions;
using std::chrono::milliseconds;

namespace {

constexpr std::array<std::string_view, kFamilies> kFamilyNames = {
    "all-reduce", "quorum", "top-k", "groups", "static-groups", "server"};

constexpr std::array<std::string_view, kFaultKinds> kKindNames = {
    "trainer dies",
    "trainer leaves",
    "trainer freezes",
    "daemon dies",
    "daemon freezes",
    "machine dies",
    "machine sleeps",
    "controller dies",
    "controller freezes",
    "the controller's machine sleeps",
    "journal fails",
    "link is cut",
    "link is cut in one direction",
    "link is slow",
    "connection breaks",
    "controller is cut off",
    "connection to the controller breaks",
    "disk stalls",
    "call is canceled",
    "daemon dies in a write",
    "machine dies in a write",
    "disk is full",
    "disk fails",
    "disk damages a checkpoint",
    "trainer writes garbage to its ring",
    "controller dies and its journal is lost"};
constexpr auto kFirstOfFiles = static_cast<uint64_t>(FaultKind::daemon_dies_writing);
constexpr auto kOfFiles = static_cast<uint64_t>(FaultKind::disk_damages) + 1 - kFirstOfFiles;

template <typename Choice>
Choice any_of(Random& random, std::initializer_list<Choice> choices) {
    return *(choices.begin() + random.below(choices.size()));
}

// Most faults last some tenths of a second. Some last long enough that nodes are given up.
Duration length_of(Random& random) {
    return random.below(3) == 0 ? uniform_of(random, milliseconds(500), milliseconds(6000))
                                : uniform_of(random, milliseconds(10), milliseconds(700));
}

Fault any_fault(Random& random, const Plan& plan, uint32_t workers) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(random.below(kFirstOfFiles));
    fault.at = uniform_of(random, milliseconds(300), plan.faulty);
    fault.length = length_of(random);
    fault.target =
        static_cast<uint32_t>(random.below(is_of_trainer(fault.kind) ? workers : plan.machines));
    fault.other = static_cast<uint32_t>(
        (fault.target + 1 + random.below(std::max(1U, plan.machines - 1))) % plan.machines);
    return fault;
}

// All daemons die at once, perhaps with the controller or with all trainers. Each comes back by
// itself.
void add_common_death(Random& random, Plan& plan, uint32_t workers) {
    const Duration at = uniform_of(random, milliseconds(300), plan.faulty);
    const auto add = [&](FaultKind kind, uint32_t targets) {
        for (uint32_t target = 0; target < targets; ++target)
            plan.faults.push_back(
                {.kind = kind, .at = at, .length = length_of(random), .target = target});
    };
    const uint64_t which = random.below(4);
    if (which != 0) add(FaultKind::daemon_dies, plan.machines);
    if (which == 1) add(FaultKind::controller_dies, 1);
    if (which == 2 || which == 0) add(FaultKind::trainer_dies, workers);
}

// Where checkpoints are written, their files have faults too, and all machines may lose their power
// at once. What they find then may be damaged.
void add_faults_of_files(Random random, Plan& plan) {
    const bool writes = std::any_of(plan.jobs.begin(), plan.jobs.end(),
                                    [](const auto& job) { return job.checkpoint_every_ms != 0; });
    if (!writes || is_mild(plan) || random.below(2) == 0) return;
    for (uint64_t left = 1 + random.below(6); left > 0; --left) {
        Fault fault = any_fault(random, plan, 1);
        fault.kind = static_cast<FaultKind>(kFirstOfFiles + random.below(kOfFiles));
        fault.target = static_cast<uint32_t>(random.below(plan.machines));
        fault.occurrence = 1 + static_cast<uint32_t>(random.below(24));
        plan.faults.push_back(fault);
    }
    if (random.below(3) != 0) return;
    const Duration at = uniform_of(random, milliseconds(300), plan.faulty);
    for (uint32_t target = 0; target < plan.machines; ++target) {
        plan.faults.push_back({.kind = FaultKind::machine_dies,
                               .at = at,
                               .length = length_of(random),
                               .target = target});
        if (random.below(4) == 0)
            plan.faults.push_back({.kind = FaultKind::disk_damages,
                                   .at = at + milliseconds(1),
                                   .length = {},
                                   .target = target});
    }
}

// Steps of a call in the client plane. Each takes no time, so that a fault at a time would seldom
// meet one.
void add_faults_at_steps(Random random, Plan& plan) {
    if (is_mild(plan)) return;
    for (uint64_t left = 1 + random.below(4); left > 0; --left) {
        Fault fault = any_fault(random, plan, 1);
        fault.kind = any_of(random, {FaultKind::daemon_dies, FaultKind::daemon_dies,
                                     FaultKind::trainer_dies, FaultKind::trainer_freezes});
        fault.point =
            any_of(random, {"before a submission", "in a submission", "after a submission",
                            "after a submission is taken", "before a write mark",
                            "after a write mark", "before a completion", "in a completion",
                            "after a completion", "before a completion is taken"});
        // Past the first broadcasts of most worlds.
        fault.occurrence = 300 + static_cast<uint32_t>(random.below(2000));
        plan.faults.push_back(fault);
    }
}

// Trainers with libpace may also be faulty. Others have no ring to which they could write.
void add_garbage(Random random, Plan& plan, uint32_t workers) {
    if (is_mild(plan)) return;
    for (uint64_t left = random.below(4); left > 0; --left) {
        Fault fault = any_fault(random, plan, 1);
        fault.kind = FaultKind::trainer_scribbles;
        fault.target = static_cast<uint32_t>(random.below(workers));
        plan.faults.push_back(fault);
    }
}

// Whether each machine's daemon ends at some time: then all may be gone at once.
bool may_lose_all_daemons(const Plan& plan) {
    std::set<uint32_t> ended;
    for (const Fault& fault : plan.faults) {
        const bool ends_daemon =
            fault.kind == FaultKind::daemon_dies || fault.kind == FaultKind::machine_dies;
        if (ends_daemon && fault.point.empty()) ended.insert(fault.target);
    }
    return ended.size() == plan.machines;
}

// Whether the rules of the job's program hold although nobody knows how far the job was. A server
// gives all workers its own step, and top-k programs compare no steps.
bool may_begin_anew(const JobOptions& job) {
    return protocol::is_top_k(job.compression) ||
           protocol::family_of(job.policy) == protocol::Family::server;
}

// The controller's disk is lost with it. Jobs go on by what the nodes know. Where all nodes die at
// once too, nobody knows how far a job was: workers begin anew at different steps, and the rules of
// most programs do not hold.
void add_lost_journals(Random random, Plan& plan) {
    const bool holds = std::all_of(plan.jobs.begin(), plan.jobs.end(), may_begin_anew) ||
                       !may_lose_all_daemons(plan);
    if (is_mild(plan) || !holds || random.below(3) != 0) return;
    for (uint64_t left = 1 + random.below(3); left > 0; --left) {
        Fault fault = any_fault(random, plan, 1);
        fault.kind = FaultKind::journal_lost;
        plan.faults.push_back(fault);
    }
}

struct Size {
    uint32_t machines = 0;
    uint32_t workers = 0;
};

// Most worlds are small: their runs are short. One in twenty has up to kWorkersMax workers.
Size size_of(Random& random, uint64_t seed, uint32_t workers) {
    Size usual;
    usual.machines = 2 + static_cast<uint32_t>(random.below(4));
    usual.workers =
        std::max<uint32_t>(2, usual.machines * (1 + static_cast<uint32_t>(random.below(3))));
    // The plans of small worlds do not depend on these numbers.
    Random rare(seed ^ 0x6C61726765U);
    if (workers == 0 && rare.below(20) != 0) return usual;
    if (workers == 0) workers = 17 + static_cast<uint32_t>(rare.below(kWorkersMax - 16));
    const uint32_t least = std::max(2U, workers / 8);
    const uint32_t most = std::min(kMachinesMax, workers);
    return {least + static_cast<uint32_t>(rare.below(most - least + 1)), workers};
}

protocol::Policy group_policy(Random& random) {
    using protocol::Policy;
    return any_of(random, {Policy::partial_reduce, Policy::prague_random, Policy::prague_smart,
                           Policy::ad_psgd, Policy::full, Policy::automatic});
}

}  // namespace

std::string_view name_of(Family family) {
    return kFamilyNames.at(static_cast<size_t>(family));
}

std::optional<Family> family_of(std::string_view name) {
    const auto* const found = std::find(kFamilyNames.begin(), kFamilyNames.end(), name);
    if (found == kFamilyNames.end()) return {};
    return static_cast<Family>(found - kFamilyNames.begin());
}

std::string_view name_of(FaultKind kind) {
    return kKindNames.at(static_cast<size_t>(kind));
}

bool is_mild(const Plan& plan) {
    return std::all_of(plan.faults.begin(), plan.faults.end(), [](const Fault& fault) {
        return fault.kind == FaultKind::controller_freezes ||
               fault.kind == FaultKind::controller_sleeps;
    });
}

JobOptions job_of(Family family, uint64_t seed, uint32_t world) {
    Random random(seed ^ 0x6A6F62U);
    JobOptions options;
    options.name = fmt::format("{}-{}", name_of(family), world);
    options.world = world;
    options.policy = protocol::Policy::all_reduce;
    switch (family) {
        case Family::all_reduce:
            break;
        case Family::quorum:
            options.quorum = any_of(random, {protocol::Quorum::solo, protocol::Quorum::majority,
                                             protocol::Quorum::majority_strict});
            break;
        case Family::top_k:
            options.compression =
                any_of(random, {protocol::Compression::spardl, protocol::Compression::topka,
                                protocol::Compression::gtopk, protocol::Compression::oktopk});
            options.density = 0.25;
            options.dense_fallback = protocol::DenseFallback::never;
            break;
        case Family::groups:
            options.policy = group_policy(random);
            if (options.policy == protocol::Policy::partial_reduce)
                options.group_size = std::min(world, 2 + static_cast<uint32_t>(random.below(3)));
            break;
        case Family::static_groups:
            options.policy = protocol::Policy::prague_static;
            break;
        case Family::server:
            options.policy = any_of(
                random, {protocol::Policy::ssp, protocol::Policy::bsp, protocol::Policy::asp});
            options.elements = 24;
            options.shards = 3;
            options.rate = protocol::Rate::sum;
            if (random.below(2) == 0) options.checkpoint_every_ms = 200;
            break;
    }
    return options;
}

Plan plan_of(uint64_t seed, std::optional<Family> family, uint32_t workers) {
    Random random(seed);
    Plan plan;
    plan.seed = seed;
    plan.family = family ? *family : static_cast<Family>(random.below(kFamilies));
    const Size size = size_of(random, seed, workers);
    plan.machines = size.machines;
    plan.jobs.push_back(job_of(plan.family, seed, size.workers));
    // Sometimes another job trains beside it.
    if (random.below(4) == 0)
        plan.jobs.push_back(
            job_of(static_cast<Family>(random.below(kFamilies)), seed + 1, plan.machines));
    if (plan.jobs.size() == 2 && plan.jobs[0].name == plan.jobs[1].name) plan.jobs.pop_back();
    uint32_t all = 0;
    for (const JobOptions& job : plan.jobs) all += job.world;
    plan.faulty = milliseconds(4000 + random.below(8000));
    const size_t faults = 3 + random.below(30);
    const bool mild = random.below(8) == 0;
    for (size_t i = 0; i < faults; ++i) {
        plan.faults.push_back(any_fault(random, plan, all));
        if (mild) plan.faults.back().kind = FaultKind::controller_freezes;
    }
    if (!mild && random.below(3) == 0) add_common_death(random, plan, all);
    add_faults_of_files(Random(seed ^ 0x66696C6573U), plan);
    plan.clients = Random(seed ^ 0x636C69656E7473U).below(4) == 0;
    add_garbage(Random(seed ^ 0x67617262616765U), plan, all);
    add_faults_at_steps(Random(seed ^ 0x7374657073U), plan);
    add_lost_journals(Random(seed ^ 0x6C6F7374U), plan);
    std::sort(plan.faults.begin(), plan.faults.end(),
              [](const Fault& one, const Fault& other) { return one.at < other.at; });
    return plan;
}

Plan plan_of_point(uint64_t seed, Family family, FaultKind kind, const std::string& point,
                   uint32_t occurrence) {
    Random random(seed);
    Plan plan;
    plan.seed = seed;
    plan.family = family;
    plan.machines = 3;
    plan.jobs.push_back(job_of(family, seed, 4));
    plan.faulty = milliseconds(2500);
    Fault fault = any_fault(random, plan, 4);
    fault.kind = kind;
    fault.target = static_cast<uint32_t>(random.below(plan.machines));
    fault.other = (fault.target + 1) % plan.machines;
    fault.point = point;
    fault.occurrence = occurrence;
    if (family == Family::server && is_file_point(point)) plan.jobs[0].checkpoint_every_ms = 200;
    plan.faults.push_back(fault);
    return plan;
}

std::string to_text(const Fault& fault) {
    const auto in_ms = [](Duration time) { return base::to_seconds(time) * 1e3; };
    std::string when = fault.point.empty()
                           ? fmt::format("at {:.3f} ms", in_ms(fault.at))
                           : fmt::format("{} no. {}", fault.point, fault.occurrence);
    std::string text = fmt::format("{}: {} {}", when, name_of(fault.kind), fault.target);
    if (fault.kind >= FaultKind::link_cut && fault.kind <= FaultKind::link_breaks)
        text += fmt::format(" - {}", fault.other);
    if (fault.kind == FaultKind::daemon_dies_writing ||
        fault.kind == FaultKind::machine_dies_writing)
        text += fmt::format(", at step {}", fault.occurrence);
    return text + fmt::format(", for {:.3f} ms", in_ms(fault.length));
}

std::string to_text(const Plan& plan) {
    std::string text = fmt::format("seed {}: {} machines{}", plan.seed, plan.machines,
                                   plan.clients ? ", real clients" : "");
    for (const JobOptions& job : plan.jobs)
        text += fmt::format(", job {} ({})", job.name, protocol::name_of(job.policy));
    for (const Fault& fault : plan.faults) text += "\n    " + to_text(fault);
    return text;
}

}  // namespace pace::world
