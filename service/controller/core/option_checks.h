// What the checks of job options share, whatever the family.
#pragma once

#include <string_view>

#include "service/controller/core/option_words.h"

namespace pace::controller {

template <HasWords Choice>
base::Result<> check_choice(std::string_view option, Choice choice) {
    const Words words = words_of(choice);
    if (static_cast<size_t>(choice) <= words.size()) return {};
    return base::make_error(base::ErrorKind::invalid, "{} is {}; use one of {}", option,
                            static_cast<unsigned>(choice), numbered(words));
}

// One pass over options that must be left at their defaults, for a reason that they share. Keeps
// the first that is not.
class Unwanted {
  public:
    explicit Unwanted(std::string_view reason) : reason_(reason) {}

    template <HasWords Choice>
    Unwanted& choice(std::string_view option, Choice given, Choice fallback) {
        if (given != Choice{} && given != fallback) keep(option, name_of(given));
        return *this;
    }
    template <typename Number>
    Unwanted& number(std::string_view option, Number given) {
        if (given != Number{}) keep(option, given);
        return *this;
    }
    base::Result<> result() const { return found_; }

  private:
    template <typename Value>
    void keep(std::string_view option, Value value) {
        if (found_)
            found_ =
                base::make_error(base::ErrorKind::invalid, "{} is {}, {}", option, value, reason_);
    }

    std::string_view reason_;
    base::Result<> found_;
};

template <typename Choice>
void fill(Choice& choice, Choice fallback) {
    if (choice == Choice{}) choice = fallback;
}

}  // namespace pace::controller
