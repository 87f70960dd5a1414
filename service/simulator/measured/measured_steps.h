// MeasuredSteps: how long a job's workers compute, from measurements: each worker's median, and how
// much steps vary.
#pragma once

#include <string>
#include <vector>

#include "service/simulator/measured/measured_job.h"

namespace pace::simulator {

struct MeasuredSteps {
    double median_ms = 0;  // of the median worker; 0: no worker has measured a step
    // Each worker's median divided by median_ms. 1 for a worker without steps.
    std::vector<double> factors{};
    double cv = 0;  // standard deviation / mean of a worker's steps
    std::vector<std::string> notes{};
};

MeasuredSteps steps_of(const MeasuredJob& job);

}  // namespace pace::simulator
