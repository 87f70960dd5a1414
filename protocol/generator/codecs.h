// Generates the source that converts between plain structs and tables.
#pragma once

#include <string>

#include "protocol/generator/schema.h"

namespace pace::protocol::generator {

std::string source_of(const Schema& schema);

}  // namespace pace::protocol::generator
