"""The mistakes of the section "The network"."""

import functools

from .cases import makes
from .scene import DATA_PORT, THERE

SECTION = "The network"
makes = functools.partial(makes, SECTION)


def refused(scene, *flags):
    """What a daemon says that does not start with these settings of the network."""
    return scene.refusal_of(scene.daemon_of("--controller", scene.address, *scene.keys.of_node("node-3"), *flags))


@makes('data_interface "…" leads to a network, on which UCX would listen')
def ucx_on_an_open_network(scene):
    return refused(scene, "--data-interface", "eth0", "--data-transport", "tcp")


@makes('there is no interface "…"; this host has …')
def an_interface_that_is_not_there(scene):
    return refused(scene, "--data-interface", "eth7")


@makes('no interface has an address in "…"; this host has …')
def a_subnet_in_which_the_host_is_not(scene):
    return refused(scene, "--data-interface", "10.99.0.0/16")


@makes('interface "…" is down or has no address; this host has …')
def an_interface_without_an_address(scene):
    scene.ip(THERE, "link", "add", "bare", "type", "bridge")
    return refused(scene, "--data-interface", "bare")


@makes("… is not the first address of …, and UCX would listen on …")
def the_second_address_of_an_interface(scene):
    scene.ip(THERE, "address", "add", "10.88.0.1/24", "dev", "eth0")
    return refused(scene, "--data-interface", "10.88.0.1", "--data-transport", "tcp", "--closed-network")


@makes("open UCX transport … on …")
def a_transport_that_this_machine_does_not_have(scene):
    return refused(scene, "--data-interface", "lo", "--data-transport", "rc")


@makes("a stranger reached the data port")
def a_stranger(scene):
    scene.say(scene.network.address(0), DATA_PORT, b"GET / HTTP/1.1\r\nHost: node\r\n\r\n")
    return scene.log_of(scene.nodes[0])


@makes("the key for a peer cannot be used", "the address begins with …")
def a_node_with_another_data_transport(scene, unusable, begins):
    scene.start_node("node-3", THERE, "--data-transport", "tcp", "--closed-network")
    for node in scene.nodes:
        yield scene.log_of(node), unusable
        yield scene.log_of(node), begins


@makes("no bytes from a node", "no bytes pass between this node and …")
def a_firewall_between_two_nodes(scene, silent, between):
    """Both nodes reach the controller, but not each other."""
    nodes = scene.nodes
    worker, _ = scene.start_job(*nodes)
    yield scene.log_of(worker), "step=5"
    try:
        scene.network.cut(0, 1)
        scene.network.cut(1, 0)
        for node in nodes:
            yield scene.log_of(node), silent
        # A worker of one of them is kept out of the job. The log says what it waits for.
        yield scene.log_of(*nodes), between
    finally:
        scene.network.heal()
    for node in nodes:
        yield scene.log_of(node), "bytes come from a node again"


@makes("lost the connection to a peer")
def a_daemon_that_dies(scene, lost):
    controller = scene.start_controller()
    daemon, other = (scene.start_daemon("--controller", controller.endpoint) for _ in range(2))
    worker, _ = scene.start_job(daemon, other)
    yield scene.log_of(worker), "step=5"
    other.kill()
    yield scene.log_of(daemon), lost


@makes("it cannot be reached at …")
def a_node_without_data_interface(scene, unreachable):
    """It is on loopback, where another machine does not reach it. A controller of their own has these nodes."""
    controller = scene.start_controller(*scene.keys.of_controller(), listen=f"tcp://{scene.network.address(THERE)}:0")
    flags = "--controller", controller.endpoint
    here = scene.start_daemon(*flags, *scene.keys.of_node("node-1"), *scene.network.flags(), host=0, name="node-1")
    scene.start_job(here, scene.start_daemon(*flags, *scene.keys.of_node("node-3"), name="node-3"))
    yield scene.log_of(here), unreachable
    yield scene.log_of(here), "it cannot be reached at 127.0.0.1:"
    # The job goes on without one of them. The controller excludes neither.
    yield scene.log_of(controller), "goes on without node"
    if "excluded" in here.text():
        raise AssertionError(f"the node whose settings are right was excluded:\n{here.text()}")


@makes("peer … cannot be reached", "the peer cannot be reached from this node's interfaces")
def networks_of_ucx_that_are_not_connected(scene, unreachable, interfaces):
    controller = scene.start_controller()
    flags = "--controller", controller.endpoint, "--data-transport", "tcp", "--closed-network"
    daemons = scene.start_daemon(*flags), scene.start_daemon(*flags, "--data-interface", "eth0")
    scene.start_job(*daemons)
    yield scene.log_of(*daemons), unreachable
    yield scene.log_of(*daemons), interfaces
