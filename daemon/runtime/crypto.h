// The life of OpenSSL in a process that may end at any time.
#pragma once

namespace pace::daemon {

// OpenSSL ends itself when the process exits. Static objects that are made after this call end
// before it. Threads: any. Blocks: no. Later calls do nothing.
void begin_crypto();

}  // namespace pace::daemon
