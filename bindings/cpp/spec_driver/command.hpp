// Command: one line that the driver is told. Broken and Unsupported: what a handler throws when it cannot do it.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace spec {

// The command is not understood, or names what is not there.
struct Broken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The binding cannot say this at all.
struct Unsupported : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Command {
  public:
    // Cuts the line at its spaces.
    explicit Command(const std::string& line);

    const std::vector<std::string>& words() const { return words_; }
    // The first word, or "".
    std::string verb() const { return words_.empty() ? "" : words_[0]; }
    // The name of what is made or used: the word after the verb, or "".
    std::string name() const { return words_.size() < 2 ? "" : words_[1]; }
    // What comes after the name, as a command of its own.
    std::string rest() const;

    // The value of a key.
    std::optional<std::string> value(const std::string& key) const;
    // The same, of a key that must be there.
    std::string needed(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::int64_t otherwise) const;
    std::uint64_t count(const std::string& key, std::uint64_t otherwise) const;
    bool is_set(const std::string& key) const { return integer(key, 0) != 0; }

  private:
    std::vector<std::string> words_;
};

// The parts of a list, "1,2".
std::vector<std::string> parts_of(const std::string& list);

// What arrives as a number with `digits` digits: "%.9g".
std::string text_of(double number, int digits);

}  // namespace spec
