// JournalWatch: tells the log when the journal begins to fail, why, and when it is written again.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace pace::controller {

class JournalWatch {
  public:
    // Called several times a second, with why the journal fails now.
    void look(const std::optional<base::Error>& failure);

  private:
    std::string told_;  // the failure that was told last; empty: none
};

}  // namespace pace::controller
