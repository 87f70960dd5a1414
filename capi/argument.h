// Finds the argument or option that a message is about.
#pragma once

#include <string_view>

namespace pace::capi {

// Returns "topk.density" for "topk.density is 2; give …", "flags" for "options->flags is …", and
// "topk.densty" for "there is no option 'topk.densty'; …". Messages about wrong arguments begin in
// these ways. This holds for this library's messages and for the daemon's messages, because the
// daemon's errors travel as texts. Empty means that the message is about no argument.
std::string_view argument_of(std::string_view message) noexcept;

}  // namespace pace::capi
