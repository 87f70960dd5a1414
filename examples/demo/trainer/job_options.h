// JobOptions: the options of a worker's job from its command line, in the words of pace.h.
#pragma once

#include <pace.h>

#include <vector>

#include "options.h"

namespace demo {

class JobOptions {
  public:
    // The object keeps pointers into `options`.
    explicit JobOptions(const Options& options);
    JobOptions(const JobOptions&) = delete;
    JobOptions& operator=(const JobOptions&) = delete;

    const pace_session_options* get() const { return &session_; }

  private:
    void add_groups(const Options& options);
    void add_quorum(const Options& options);
    void add_compression(const Options& options);

    std::vector<pace_option> options_;
    pace_session_options session_ = PACE_SESSION_OPTIONS_INIT;
};

}  // namespace demo
