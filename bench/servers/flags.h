// Flags of server_convergence.
#pragma once

#include <string>

#include "real.h"
#include "simulation.h"

namespace pace::bench {

struct Flags {
    std::string data;
    bool real = false;
    SimulationOptions run;
    RealOptions real_run;
};

// Ends the program with a usage line if it does not understand the flags.
Flags parse_flags(int argc, char** argv);

}  // namespace pace::bench
