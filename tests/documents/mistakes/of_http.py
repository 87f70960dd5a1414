"""The mistakes of the section "HTTP"."""

import functools
import resource
import sys

from .cases import makes
from .scene import AS_NOBODY, HERE, NOBODY, Place, THERE

SECTION = "HTTP"
makes = functools.partial(makes, SECTION)
ANYWHERE = "127.0.0.1:0"
READER, OPERATOR = "reader-0123456789abcdef", "operator-0123456789abcdef"


def refused(scene, *flags, listen=ANYWHERE, before=()):
    """What a controller says that does not start with these settings of HTTP."""
    return scene.refusal_of(scene.controller_of("--http-listen", listen, *flags, journal="", before=before))


def served(scene, *flags, before=()):
    """A controller that serves HTTP, and the port."""
    controller = scene.start_controller("--http-listen", ANYWHERE, *flags, before=before)
    return controller, int(controller.told(r"^http http://127\.0\.0\.1:(\d+)$"))


def answer(scene, port, request="GET /metrics", *headers, host="localhost", user=0):
    head = "\r\n".join((f"{request} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""))
    return Place(f"the answer to {request}", lambda: scene.say("127.0.0.1", port, head.encode(), user))


def bearer(token):
    return f"Authorization: Bearer {token}"


# What does not start.


@makes("http_listen … is no address with a port")
def a_name_to_listen_at(scene):
    return refused(scene, listen="controller.example:80")


@makes("http_listen … is in use by another process")
def a_port_that_is_in_use(scene):
    _, port = served(scene)
    return refused(scene, listen=f"127.0.0.1:{port}")


@makes("http_listen … is not loopback")
def an_address_that_others_reach(scene):
    return refused(scene, listen=f"{scene.network.address(THERE)}:0")


@makes("… has mode …: others could read or change the secret")
def a_token_that_others_may_read(scene):
    return refused(scene, "--http-token-file", scene.file("token", READER, 0o644))


@makes("user … may not read …, and systemd passes no credential …")
def a_token_of_another_user(scene):
    return refused(scene, "--http-token-file", scene.file("token", READER), before=AS_NOBODY)


@makes("… is not one line of … to … visible ASCII characters")
def an_empty_token(scene):
    return refused(scene, "--http-token-file", scene.file("token"))


@makes("http_tls_certificate and http_tls_key mean nothing without each other")
def a_key_without_a_certificate(scene):
    return refused(scene, "--http-tls-key", scene.file("key"))


@makes("the HTTP server at … does not start…")
def a_certificate_that_is_none(scene):
    certificate, key = scene.file("certificate", "none"), scene.file("key", "none")
    return refused(scene, "--http-tls-certificate", certificate, "--http-tls-key", key)


@makes("http_users names '…', and this machine has no such user")
def a_reader_who_is_no_user(scene):
    return refused(scene, "--http-users", "no-such-user")


# Who may not read.


@makes("the Host header says …")
def a_name_of_another_host(scene):
    _, port = served(scene)
    return answer(scene, port, host="page.example")


@makes("user … of this machine may not read here")
def another_user_who_reads(scene):
    _, port = served(scene)
    return answer(scene, port, user=NOBODY)


@makes("the kernel does not say which user of this machine asks")
def a_kernel_that_says_nothing_of_sockets(scene):
    _, port = served(scene, before=[sys.executable, "-B", HERE / "without_sock_diag.py"])
    return answer(scene, port)


@makes("this needs a token")
def no_token(scene):
    _, port = served(scene, "--http-token-file", scene.file("token", READER))
    return answer(scene, port)


@makes("the token is not the right one")
def another_token(scene):
    _, port = served(scene, "--http-token-file", scene.file("token", READER))
    return answer(scene, port, "GET /metrics", bearer(OPERATOR))


@makes("this needs the operator's token")
def the_readers_token_for_what_operators_do(scene):
    reader, operator = scene.file("reader", READER), scene.file("operator", OPERATOR)
    _, port = served(scene, "--http-token-file", reader, "--http-operator-token-file", operator)
    return answer(scene, port, "POST /api/nodes/node-1/drain", bearer(READER), "Content-Length: 0")


# Readiness.


@makes("not attached to the controller …")
def a_daemon_without_its_controller(scene):
    daemon = scene.start_daemon("--controller", scene.address, "--insecure", "--http-listen", ANYWHERE)
    return answer(scene, int(daemon.told(r"^http http://127\.0\.0\.1:(\d+)$")), "GET /readyz")


@makes("the journal … cannot be written")
def a_disk_without_room_for_the_journal(scene):
    controller, port = served(scene)
    resource.prlimit(controller.popen.pid, resource.RLIMIT_FSIZE, (1, 1))  # a file that may not grow stands for a full disk
    scene.start_daemon("--controller", controller.endpoint)  # a record for the journal
    return answer(scene, port, "GET /readyz")
