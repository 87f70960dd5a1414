// What another process says ends up in logs and on terminals.
#pragma once

#include <string>
#include <string_view>

namespace pace::protocol {

// What is not printable ASCII becomes '?'.
std::string printable(std::string_view text_untrusted);

// As a string of JSON, in quotation marks. Control characters become '?'.
std::string quoted(std::string_view text_untrusted);

}  // namespace pace::protocol
