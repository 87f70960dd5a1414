// LocalWay: this node alone has all members, and the host sums or copies among them in place, in
// one pass.
#pragma once

#include "daemon/exchange/run/running.h"
#include "daemon/exchange/ways/way.h"

namespace pace::daemon {

class LocalWay final : public Way {
  public:
    explicit LocalWay(Running& running) : running_(running) {}

    base::Task<base::Result<bool>> is_open() override { co_return true; }
    base::Task<base::Result<>> move() override;
    base::Task<base::Result<>> commit() override;

  private:
    Running& running_;
};

}  // namespace pace::daemon
