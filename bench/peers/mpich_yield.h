// mpich_yield.h: lets MPICH share processors.
//
// Debian's MPICH (ch4:ucx) polls without ever giving the processor away; with more processes than
// processors it is a hundred times slower for it, which is no measure of its algorithms. This unit
// stands before ucp_worker_progress, which MPICH calls in every turn of its waiting loop, and yields
// when nothing has moved for a while.
#pragma once

namespace pace::bench {

void mpich_yield_when_idle(bool yield);

}  // namespace pace::bench
