// Reads the fields of the controller's status document that the page's server side needs. Pure. A
// field that is missing or of another kind is left out, because the document may be of another
// version.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "service/page/history.h"

namespace pace::page {

struct Samples {
    int64_t clock_us = 0;
    std::vector<JobSample> jobs;
};

// Reads the document once, from beginning to end, and builds only the samples. A text that is not
// JSON has no samples.
Samples samples_of(std::string_view document);

}  // namespace pace::page
