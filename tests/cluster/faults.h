// What the fault tests share: moments drawn at random, and trainers that make steps meanwhile.
#pragma once

#include <cstdint>
#include <functional>

#include "base/random.h"
#include "cluster.h"

namespace pace::cluster {

// PACE_TEST_SEED if it is set, else drawn; printed, once in a process.
uint64_t test_seed();

// Lets the trainer make `steps` more steps; a moment drawn at random lies between two of its lines. A GoogleTest failure
// with the state of everything if it makes none soon.
void let_step(Process& trainer, uint64_t steps, Cluster& cluster);

// The same, steps that it has made already not counted.
void let_step_from_now(Process& trainer, uint64_t steps, Cluster& cluster);

// The number of its last step so far.
uint64_t newest_step(Process& trainer);
// The round of it, of a trainer that tells rounds. 0: it has made none.
uint64_t newest_round(Process& trainer);

// Until the trainer has made no step during many of the other's; a GoogleTest failure if that does not come soon.
void let_stop(Process& trainer, Process& other, Cluster& cluster);

// A trainer in the place of a dead one: rank and world are added to `flags`.
// What follows `prefix` in its next line that begins so; the test has failed, and says how things stand, if there is none.
std::optional<std::string> let_say(Process& trainer, const std::string& prefix, Cluster& cluster);

Process start_again(Cluster& cluster, size_t node, size_t rank, size_t world,
                    std::vector<std::string> flags);

// None of the lines read so far begins so.
void expect_no_line(const std::vector<Process>& trainers, const std::string& prefix);

// Anything, at any moment, `times` times over: all trainers but the first two are frozen, woken and replaced, and the
// controller is killed and started again. All are awake when this returns.
void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::function<void(size_t rank)>& replace);
// Replaced is who is killed, and started again with `flags` on its node, of which each has two.
void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::vector<std::string>& flags);

}  // namespace pace::cluster
