// Makes texts of other processes safe for logs and terminals.
#pragma once

#include <string>
#include <string_view>

namespace pace::protocol {

// Replaces every byte that is not printable ASCII by '?'.
std::string printable(std::string_view text_untrusted);

// Returns the text as a JSON string in quotation marks. Control characters become '?'.
std::string quoted(std::string_view text_untrusted);

}  // namespace pace::protocol
