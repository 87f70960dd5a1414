// Which argument or option a message is about.
#pragma once

#include <string_view>

namespace pace::capi {

// "topk.density" of "topk.density is 2; give …", "flags" of "options->flags is …", "topk.densty" of "there is no option 'topk.densty'; …".
// Messages about wrong arguments begin so, this library's and the daemon's, whose errors travel as texts. Empty: the message is about
// none.
std::string_view argument_of(std::string_view message) noexcept;

}  // namespace pace::capi
