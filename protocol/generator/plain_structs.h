// Generates the headers: the plain structs, and the declarations of the functions that read and
// write them.
#pragma once

#include <string>

#include "protocol/generator/schema.h"

namespace pace::protocol::generator {

std::string structs_of(const Schema& schema);
std::string codec_declarations_of(const Schema& schema);

}  // namespace pace::protocol::generator
