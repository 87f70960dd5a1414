// What the fault tests share: moments drawn at random, and trainers that make steps meanwhile.
#pragma once

#include <cstdint>

#include "cluster.h"

namespace pace::cluster {

// PACE_TEST_SEED if it is set, else drawn; printed, once in a process.
uint64_t test_seed();

// Lets the trainer make `steps` more steps; a moment drawn at random lies between two of its lines. A GoogleTest failure
// with the state of everything if it makes none soon.
void let_step(Process& trainer, uint64_t steps, Cluster& cluster);

// A trainer in the place of a dead one: rank and world are added to `flags`.
Process start_again(Cluster& cluster, size_t node, size_t rank, size_t world,
                    std::vector<std::string> flags);

}  // namespace pace::cluster
