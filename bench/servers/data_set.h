// DataSet: samples with few features each, in compressed sparse rows. Each sample has a label, +1
// or -1.
//
//     file, little-endian: "PACECSR1" | samples u64 | features u64 | non-zeros u64 |
//                          begin of each sample u64, and the end of the last |
//                          indices u32 | values f32 | labels i8
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace pace::bench {

struct DataSet {
    size_t features = 0;
    std::vector<uint64_t> begins;  // one more element than there are samples
    std::vector<uint32_t> indices;
    std::vector<float> values;
    std::vector<int8_t> labels;

    size_t samples() const { return labels.size(); }

    static base::Result<DataSet> read(const std::string& path);
};

}  // namespace pace::bench
