"""The mistakes of the section "The controller and its daemons"."""

import functools
import grp
import itertools
import os
import resource

from .cases import makes
from .scene import AS_NOBODY, CONTROLLER, NOBODY, Place, THERE, wait_until

SECTION = "The controller and its daemons"
makes = functools.partial(makes, SECTION)
REFUSED = "the controller refuses this daemon"
ATTACHED = "info    attached to the controller"
NEVER_THERE = "10.77.0.200"
# What a program says that uses ZeroMQ for something else: its greeting, and a command that no controller says.
OF_ANOTHER_PROGRAM = (b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32) +
                      b"\x04\x08\x05HELLO\0\0")


def kept_out(scene, *flags, name=None, before=(), event="not attached to the controller"):
    """Starts a daemon that does not attach. The page says that the reason is in three places."""
    daemon = scene.start_daemon(*scene.network.flags(), *flags, name=name, before=before)
    return [scene.log_of(daemon, event=event), scene.shown_by(daemon, "daemon"), scene.shown_by(daemon, "doctor")]


def with_keys(scene, name="node-3"):
    return scene.keys.of_node(name)


def create(job):
    """What pacectl is told to create a job."""
    return "job", "create", job, "--policy", "all-reduce", "--world", 2


# Nobody is there.


@makes("nothing listens on port … of …")
def a_controller_that_ends_again_and_again(scene, quotation):
    """`pacectl` is told what the daemon's log has said a short time ago, and does not repeat."""
    controller = scene.start_controller()
    endpoint = controller.endpoint
    controller.kill()
    daemon = scene.start_daemon("--controller", endpoint)
    yield scene.log_of(daemon), "nothing listens on port"
    controller = scene.start_controller(listen=endpoint)
    yield scene.log_of(daemon), ATTACHED
    controller.kill()
    yield scene.log_of(scene.start_pacectl(daemon, *create("late"))), quotation


@makes("nothing listens on port … of …")
def a_port_on_which_nothing_listens(scene):
    return kept_out(scene, "--controller", f"tcp://{scene.network.address(CONTROLLER)}:7499", *with_keys(scene))


@makes("… does not answer on port …")
def an_address_that_does_not_answer(scene):
    return kept_out(scene, "--controller", f"tcp://{NEVER_THERE}:7411", *with_keys(scene))


@makes('the host "…" is not known here (…)')
def a_name_that_is_not_known(scene):
    return kept_out(scene, "--controller", "tcp://no..such..host:7411", *with_keys(scene))


@makes("… cannot be reached (…)")
def an_address_to_which_no_way_leads(scene):
    return kept_out(scene, "--controller", "tcp://10.1.2.3:7411", *with_keys(scene))


@makes('the host "…" is being looked up, and no name server has answered so far')
def a_name_server_that_does_not_answer(scene):
    servers = scene.file("resolv.conf", f"nameserver {NEVER_THERE}\n", 0o644)
    with_servers = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', servers]
    return kept_out(scene, "--controller", "tcp://controller.example:7411", *with_keys(scene), before=with_servers)


# Keys.


@makes("it asks for keys, and this daemon has none")
def a_daemon_without_keys(scene):
    return kept_out(scene, "--controller", scene.address, "--insecure")


@makes("this daemon has keys, and the controller has none")
def a_controller_without_keys(scene):
    return kept_out(scene, "--controller", scene.start_controller().endpoint, *with_keys(scene))


@makes("it does not have the key of …")
def the_public_key_of_somebody_else(scene):
    return kept_out(scene, "--controller", scene.address, "--curve-server-key-file", scene.folder / "keys/node-1.public",
                    "--curve-secret-file", scene.folder / "keys/node-3.secret")


@makes("it does not let the key of … in", "somebody did not come in")
def a_key_that_the_controller_does_not_know(scene, reason, controllers):
    scene.keys.make("stranger")
    for place in kept_out(scene, "--controller", scene.address, *with_keys(scene, "stranger")):
        yield place, reason
    yield scene.log_of(scene.controller), controllers


@makes("its key is that of node …")
def the_key_of_another_node(scene, reason):
    for place in kept_out(scene, "--controller", scene.address, *with_keys(scene), name="node-4", event=REFUSED):
        yield place, reason
    yield scene.log_of(scene.controller), "a daemon was refused"


@makes("node … may not act for user …")
def a_user_for_whom_a_node_may_not_act(scene, quotation):
    scene.keys.make("for-users")
    scene.keys.run("key", "add", "for-users", scene.folder / "keys/for-users.public", "--users", "1000-1999",
                   "--folder", scene.keys.allowed)
    daemon = scene.start_node("for-users", THERE)
    yield scene.log_of(daemon), ATTACHED
    yield scene.log_of(scene.start_pacectl(daemon, *create("mine"))), quotation


@makes("user … may not read …, and systemd passes no credential …")
def a_secret_key_of_another_user(scene):
    return scene.refusal_of(scene.controller_of(*scene.keys.of_controller(), journal="", before=AS_NOBODY))


@makes("; a public key is no secret, run: chmod 644 …")
def a_public_key_that_the_daemon_may_not_read(scene):
    key = scene.file("controller.public", (scene.folder / "keys/controller.public").read_text())
    own = scene.file("own.secret", (scene.folder / "keys/node-3.secret").read_text())
    os.chown(own, NOBODY, NOBODY)
    flags = "--controller", scene.address, "--curve-server-key-file", key, "--curve-secret-file", own
    return scene.refusal_of(scene.daemon_of(*flags, before=AS_NOBODY))


@makes("… has mode …: others could read or change the secret")
def a_secret_key_that_others_may_read(scene):
    key = scene.file("open.secret", (scene.folder / "keys/controller.secret").read_text(), 0o644)
    return scene.refusal_of(scene.controller_of("--curve-secret-file", key))


@makes("it is another user of this machine, and this controller has no list of keys")
def another_user_of_the_controllers_machine(scene):
    controller = scene.start_controller()
    scene.start_daemon("--controller", controller.endpoint, before=AS_NOBODY)
    return scene.log_of(controller)


@makes("curve_allowed_dir … holds no *.public file")
def an_empty_list_of_keys(scene):
    folder = scene.folder / "empty"
    folder.mkdir()
    secret = scene.folder / "keys/controller.secret"
    return scene.refusal_of(scene.controller_of("--curve-secret-file", secret, "--curve-allowed-dir", folder))


# Something else listens.


@makes("what listens there ends the connection: …")
def a_program_that_ends_every_connection(scene):
    return kept_out(scene, "--controller", scene.serve(lambda connection: connection.close()), "--insecure")


@makes("what listens there is no controller; …")
def a_program_that_is_no_controller(scene):
    endpoint = scene.serve(lambda connection: connection.sendall(OF_ANOTHER_PROGRAM))
    return kept_out(scene, "--controller", endpoint)


@makes("what listens there does not answer: its process may be stopped")
def a_controller_that_is_stopped(scene):
    controller = scene.start_controller()
    controller.freeze()
    return kept_out(scene, "--controller", controller.endpoint)


# Who is refused, and where nobody listens.


@makes("the node name … is in use by a daemon on host …")
def a_name_that_is_taken(scene):
    return kept_out(scene, "--controller", scene.address, *with_keys(scene, "node-2"), name="node-2", event=REFUSED)


@makes("the controller … is on another machine, or may be")
def a_daemon_off_loopback_without_keys(scene):
    return scene.refusal_of(scene.daemon_of("--controller", scene.address))


@makes("… can be reached from other machines and would be open to all of them")
def a_controller_off_loopback_without_keys(scene):
    return scene.refusal_of(scene.controller_of(listen=f"tcp://{scene.network.address(THERE)}:0"))


@makes('cannot listen on "…": … is no numeric address')
def a_name_to_listen_on(scene):
    return scene.refusal_of(scene.controller_of(listen="tcp://controller.example:0"))


@makes("… would listen on every interface")
def every_interface_to_listen_on(scene):
    return scene.refusal_of(scene.controller_of(*scene.keys.of_controller(), listen="tcp://0.0.0.0:0"))


@makes("… is in use; stop what listens there")
def a_port_that_is_in_use(scene):
    return scene.refusal_of(scene.controller_of(listen=scene.start_controller().endpoint))


@makes("… is no address of this machine; see …")
def an_address_of_another_machine(scene):
    return scene.refusal_of(scene.controller_of(*scene.keys.of_controller(), listen=f"tcp://{NEVER_THERE}:0"))


@makes("there are as many connections as there may be")
def more_connections_than_there_may_be(scene):
    controller = scene.start_controller("--connections-max", 1)
    for _ in range(2):
        scene.start_daemon("--controller", controller.endpoint)
    return scene.log_of(controller)


# Journals.


@makes("journal … is held by another controller")
def a_journal_of_two_controllers(scene):
    return scene.refusal_of(scene.controller_of(journal=scene.start_controller().journal))


@makes("journal … is damaged at byte …")
def a_damaged_journal(scene):
    journal = scene.folder / "damaged.journal"
    daemon = scene.start_daemon("--journal", journal)
    daemon.told(ATTACHED)
    for name in ("first", "second"):
        scene.pacectl(daemon, *create(name))
    # What is wrong with the last record is taken for a write that was cut short.
    wait_until(lambda: b"second" in journal.read_bytes(), "the second job in the journal")
    daemon.kill()
    written = journal.read_bytes()
    journal.write_bytes(written.replace(b"first", b"worst"))
    return scene.refusal_of(scene.controller_of(journal=journal))


@makes("journal …: …; free space or repair the disk")
def a_disk_without_room_for_the_journal(scene):
    daemon = scene.start_daemon("--journal", scene.folder / "full.journal")
    daemon.told(ATTACHED)
    resource.prlimit(daemon.popen.pid, resource.RLIMIT_FSIZE, (1, 1))  # a file that may not grow stands for a full disk
    numbers = itertools.count()
    return Place("`pacectl job create`", lambda: scene.pacectl(daemon, *create(f"job-{next(numbers)}")))


# Nodes.


@makes("excluded by the controller")
def a_daemon_that_is_silent_for_too_long(scene, quotation):
    controller = scene.start_controller("--liveness-max-ms", 500)
    daemon = scene.start_daemon("--controller", controller.endpoint)
    yield scene.log_of(controller), "node-attached"
    daemon.freeze()
    yield scene.log_of(controller), "node-excluded"
    daemon.thaw()
    yield scene.log_of(daemon), quotation


@makes("this process did not run")
def a_controller_that_did_not_run(scene, quotation):
    controller = scene.start_controller()
    daemon = scene.start_daemon("--controller", controller.endpoint)
    yield scene.log_of(controller), "node-attached"
    controller.freeze()
    yield scene.log_of(daemon), "lost the controller"
    controller.thaw()
    yield scene.log_of(controller), quotation


@makes("user … may not … nodes; root may")
def another_user_who_takes_a_node_out_of_use(scene):
    daemon = scene.start_daemon("--socket-group", grp.getgrgid(NOBODY).gr_name)
    return scene.shown_by(daemon, "node", "drain", "node-1", before=AS_NOBODY)


@makes("there is no node '…'; …")
def a_node_that_the_controller_does_not_know(scene):
    return scene.shown_by(scene.nodes[0], "node", "drain", "nowhere")
