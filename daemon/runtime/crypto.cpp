#include "daemon/runtime/crypto.h"

#include <openssl/crypto.h>

namespace pace::daemon {

void begin_crypto() {
    // Without any option OpenSSL 3.0 does nothing, and does not register its end either.
    (void)OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CRYPTO_STRINGS, nullptr);
}

}  // namespace pace::daemon
