// Plan: one run of a world: its seed, its job, and the faults that happen in it.
//
// A run is a function of its plan. A plan is made from a seed, so that a seed names a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/options/job_options.h"

namespace pace::world {

enum class Family : uint8_t { all_reduce, quorum, top_k, groups, static_groups, server };
inline constexpr size_t kFamilies = 6;
std::string_view name_of(Family family);
std::optional<Family> family_of(std::string_view name);

enum class FaultKind : uint8_t {
    trainer_dies,
    trainer_leaves,
    trainer_freezes,
    daemon_dies,
    daemon_freezes,
    machine_dies,
    machine_sleeps,
    controller_dies,
    controller_freezes,
    controller_sleeps,
    journal_fails,
    link_cut,
    link_one_way,
    link_slow,
    link_breaks,
    controller_cut,
    controller_breaks,
    disk_stalls,
    call_canceled,
    daemon_dies_writing,
    machine_dies_writing,
    disk_full,
    disk_fails,
    disk_damages,
    trainer_scribbles,
    journal_lost,
};
inline constexpr size_t kFaultKinds = 26;
std::string_view name_of(FaultKind kind);
// Whether it befalls one trainer, not a machine or a link.
constexpr bool is_of_trainer(FaultKind kind) {
    return kind <= FaultKind::trainer_freezes || kind == FaultKind::call_canceled ||
           kind == FaultKind::trainer_scribbles;
}

// When a fault happens: at a time, or when a named point is passed for the so manieth time.
struct Fault {
    FaultKind kind = FaultKind::trainer_dies;
    base::Duration at{};      // from the begin of the run
    base::Duration length{};  // of what passes: how long it lasts, or until a process returns
    uint32_t target = 0;      // a rank, or a machine
    uint32_t other = 0;       // the other machine of a link
    std::string point{};      // empty: the fault happens at its time
    // Of a point; for a death in a write, of the steps that are done to files from then on.
    uint32_t occurrence = 1;
};
std::string to_text(const Fault& fault);

struct Plan {
    uint64_t seed = 1;
    Family family = Family::all_reduce;
    uint32_t machines = 2;
    std::vector<protocol::JobOptions> jobs;
    std::vector<Fault> faults;
    bool clients = false;     // whether trainers have libpace, and daemons its clients
    base::Duration faulty{};  // how long faults may last; then everybody must go on
};

// Whether nothing happens but that the controller stands still: no worker may notice.
bool is_mild(const Plan& plan);

inline constexpr uint32_t kWorkersMax = 64;
inline constexpr uint32_t kMachinesMax = 16;
// The plan of a seed: a world of 2 to 15 workers, seldom of up to kWorkersMax, and some 5 to 40
// faults. `workers` forces the size of its first job, from 2 to kWorkersMax; 0: the seed decides.
Plan plan_of(uint64_t seed, std::optional<Family> family = {}, uint32_t workers = 0);
// A small world in which one fault happens at a point.
Plan plan_of_point(uint64_t seed, Family family, FaultKind kind, const std::string& point,
                   uint32_t occurrence);
protocol::JobOptions job_of(Family family, uint64_t seed, uint32_t world);
std::string to_text(const Plan& plan);

}  // namespace pace::world
