// Reads the [step] tables of scenario files.
#pragma once

#include "base/result.h"
#include "service/simulator/distribution.h"
#include "service/simulator/file_table.h"

namespace pace::simulator {

base::Result<Distribution> read_distribution(const FileTable& table);

}  // namespace pace::simulator
