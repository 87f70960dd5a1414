// MeasuredSteps: how long a job's workers compute, from what was measured of them: each one's median, and by how much steps vary.
#pragma once

#include <string>
#include <vector>

#include "service/simulator/measured_job.h"

namespace pace::simulator {

struct MeasuredSteps {
    double median_ms = 0;           // of the median worker; 0: nobody has measured one
    std::vector<double> factors{};  // each worker's median over that; of one without steps 1
    double cv = 0;                  // standard deviation / mean of a worker's steps
    std::vector<std::string> notes{};
};

MeasuredSteps steps_of(const MeasuredJob& job);

}  // namespace pace::simulator
