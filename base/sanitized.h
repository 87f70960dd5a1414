// kSanitized: whether this is a sanitizer's build, whose times and memory are not the program's own. For tests.
#pragma once

namespace pace::base {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pace::base
