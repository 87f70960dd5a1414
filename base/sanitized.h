// kSanitized: whether this build has a sanitizer. A sanitizer changes the program's times and
// memory. For tests.
#pragma once

namespace pace::base {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace pace::base
