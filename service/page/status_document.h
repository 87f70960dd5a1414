// What the page's server side reads of the controller's status document. Pure. Whatever is missing there, or of another kind, is left
// out: the document may be another version's.
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

// Reads the document once, from its begin to its end, and builds nothing but the samples. Of what is no JSON there are none.
Samples samples_of(std::string_view document);

}  // namespace pace::page
