// The common parts of the fault tests: moments drawn at random, and trainers that make steps
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>

#include "base/random.h"
#include "tests/cluster/harness/cluster.h"

namespace pace::cluster {

// Returns PACE_TEST_SEED if it is set. Otherwise draws a seed. The seed is printed once in a
// process.
uint64_t test_seed();

// Lets the trainer make `steps` more steps. A moment drawn at random lies between two of its lines.
// If the trainer makes no step soon, there is a GoogleTest failure with the state of the cluster.
void let_step(Process& trainer, uint64_t steps, Cluster& cluster);

// Does the same, but does not count steps that the trainer has made already.
void let_step_from_now(Process& trainer, uint64_t steps, Cluster& cluster);

// Returns the number of the trainer's last step so far.
uint64_t newest_step(Process& trainer);
// Returns the round of the trainer's last step, for a trainer that prints rounds. 0 means that it
// has made none.
uint64_t newest_round(Process& trainer);

// Waits until the trainer has made no step during many steps of the other trainer. There is a
// GoogleTest failure if this does not happen soon.
void let_stop(Process& trainer, Process& other, Cluster& cluster);

// Returns the text after `prefix` in the trainer's next line that begins with `prefix`. If there is
// no such line, the test fails and prints the state of the cluster.
std::optional<std::string> let_say(Process& trainer, const std::string& prefix, Cluster& cluster);

// Starts a trainer in the place of a dead one. Rank and world are added to `flags`.
Process start_again(Cluster& cluster, size_t node, size_t rank, size_t world,
                    std::vector<std::string> flags);

// Expects that none of the lines read so far begins with `prefix`.
void expect_no_line(const std::vector<Process>& trainers, const std::string& prefix);

// Random faults at random moments, `times` times. All trainers but the first two are frozen, woken
// and replaced. The controller is killed and started again. All processes are awake when this
// function returns.
void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::function<void(size_t rank)>& replace);
// Replaces a trainer by killing it and starting it again with `flags` on its node. Each node has
// two trainers.
void storm(std::vector<Process>& trainers, Cluster& cluster, base::Random& random, int times,
           const std::vector<std::string>& flags);

}  // namespace pace::cluster
