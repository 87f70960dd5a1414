#include "transports/tls/session/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>

#include <array>
#include <utility>

#include "base/attempt.h"

namespace pace::transports::tls {

using base::ErrorKind;
using base::make_error;

namespace {

// How many bytes of records are taken from the socket in one call. A guess: larger ones are not
// faster.
constexpr size_t kReadBufferBytes = size_t{64} * 1024;

TlsConnection& connection_of(SSL* ssl) {
    return *static_cast<TlsConnection*>(SSL_get_app_data(ssl));
}

TlsConnection& connection_of(BIO* bio) {
    return *static_cast<TlsConnection*>(BIO_get_data(bio));
}

// OpenSSL knows no exceptions. Returns `otherwise` if there is no memory.
template <typename Work>
int without_exceptions(int otherwise, Work work) {
    int result = otherwise;
    return base::attempt([&] { result = work(); }) ? result : otherwise;
}

int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** id, size_t* id_size,
            SSL_SESSION** session) {
    return without_exceptions(
        0, [&] { return connection_of(ssl).use_key(digest, id, id_size, session); });
}

int find_key(SSL* ssl, const unsigned char* id, size_t id_size, SSL_SESSION** session) {
    return without_exceptions(0, [&] {
        return connection_of(ssl).find_key(std::as_bytes(std::span(id, id_size)), session);
    });
}

int write_bio(BIO* bio, const char* bytes, int size) {
    return without_exceptions(-1, [&] { return connection_of(bio).send_bytes(bio, bytes, size); });
}

int read_bio(BIO* bio, char* bytes, int size) {
    return without_exceptions(-1,
                              [&] { return connection_of(bio).receive_bytes(bio, bytes, size); });
}

long control_bio(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return connection_of(bio).at_end() ? 1 : 0;
    return 0;
}

base::Error openssl_refuses(const char* what) {
    const unsigned long code = ERR_peek_last_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    ERR_clear_error();
    return make_error(ErrorKind::internal, "OpenSSL refuses {}: {}", what,
                      reason == nullptr ? "no reason" : reason);
}

base::Result<> set_up(SSL_CTX* context) {
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
        SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1)
        return openssl_refuses("TLS 1.3");
    if (SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") !=
        1)
        return openssl_refuses("the cipher suites");
    // P-256 is for hosts that allow approved algorithms only. There X25519 does not exist.
    std::array<int, 2> groups = {NID_X25519, NID_X9_62_prime256v1};
    if (SSL_CTX_set1_groups(context, groups.data(), 2) != 1 &&
        SSL_CTX_set1_groups(context, &groups[1], 1) != 1)
        return openssl_refuses("the groups");
    // psk_ke is off unless SSL_OP_ALLOW_NO_DHE_KEX is set.
    SSL_CTX_clear_options(context, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    if (SSL_CTX_set_num_tickets(context, 0) != 1) return openssl_refuses("to send no tickets");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context, 0);
    SSL_CTX_set_recv_max_early_data(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    // A step that meets a record without data goes on to the next record. TlsConnection bounds it.
    SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);
    SSL_CTX_set_quiet_shutdown(context, 1);
    // A server that shows a certificate is never right: no authority is known.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(context, use_key);
    SSL_CTX_set_psk_find_session_callback(context, find_key);
    return {};
}

}  // namespace

TlsContext::TlsContext(const KeyRing& keys, ContextPointer context, MethodPointer method)
    : keys_(keys), context_(std::move(context)), method_(std::move(method)) {}

base::Result<std::unique_ptr<TlsContext>> TlsContext::create(const KeyRing& keys) {
    ERR_clear_error();
    ContextPointer context(SSL_CTX_new(TLS_method()));
    if (context == nullptr) return openssl_refuses("a context");
    PACE_TRY(set_up(context.get()));
    // OpenSSL has few numbers for kinds of BIOs, so a process takes one.
    static const int kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK;
    MethodPointer method(BIO_meth_new(kind, "pace socket"));
    if (method == nullptr || BIO_meth_set_write(method.get(), write_bio) != 1 ||
        BIO_meth_set_read(method.get(), read_bio) != 1 ||
        BIO_meth_set_ctrl(method.get(), control_bio) != 1)
        return openssl_refuses("a BIO");
    return std::unique_ptr<TlsContext>(new TlsContext(keys, std::move(context), std::move(method)));
}

base::Result<std::unique_ptr<TlsConnection>> TlsContext::connection(base::UniqueFd socket) {
    ERR_clear_error();
    SslPointer ssl(SSL_new(context_.get()));
    if (ssl == nullptr) return openssl_refuses("a connection");
    return std::make_unique<TlsConnection>(std::move(socket), std::move(ssl), *method_, keys_);
}

}  // namespace pace::transports::tls
