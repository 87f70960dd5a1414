// Reads the [step] tables of scenario files.
#pragma once

#include "base/result.h"
#include "service/simulator/files/file_table.h"
#include "service/simulator/model/distribution.h"

namespace pace::simulator {

base::Result<Distribution> read_distribution(const FileTable& table);

}  // namespace pace::simulator
