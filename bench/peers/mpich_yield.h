// mpich_yield.h: lets MPICH share processors.
//
// Debian's MPICH (ch4:ucx) polls without ever yielding the processor. With more processes than
// processors this makes it a hundred times slower. That does not measure its algorithms. MPICH
// calls ucp_worker_progress in every turn of its waiting loop. This unit stands before that
// function, and yields when nothing has moved for a while.
#pragma once

namespace pace::bench {

void mpich_yield_when_idle(bool yield);

}  // namespace pace::bench
