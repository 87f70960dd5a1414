// Writes the scenario file of a measured job.
#pragma once

#include <string>
#include <vector>

#include "service/simulator/measured/measured_job.h"
#include "service/simulator/measured/measured_links.h"
#include "service/simulator/measured/measured_size.h"
#include "service/simulator/measured/measured_steps.h"

namespace pace::simulator {

struct Measurements {
    MeasuredJob job;
    MeasuredSteps steps;
    MeasuredLinks links;
    uint64_t bytes = 0;
    double memory_gbytes_per_s = 0;
    std::vector<std::string> notes;
};

// Adds to the notes what the file had to leave out.
std::string file_of(Measurements& ret_found);

}  // namespace pace::simulator
