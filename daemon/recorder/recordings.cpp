#include "daemon/recorder/recordings.h"

namespace pace::daemon {

namespace {

class NoRecordings final : public Recordings {
  public:
    void keep(std::string_view /*reason*/) override {}
    void make_part(uint64_t /*from*/, size_t /*bytes_max*/, Made /*made*/) override {}
};

}  // namespace

Recordings& Recordings::none() {
    static NoRecordings nothing;
    return nothing;
}

}  // namespace pace::daemon
