"""The keys of a cluster's nodes and of its controller, made by pacectl."""

import subprocess


class Keys:
    """Files in a folder. The controller lets in the nodes that were named."""

    def __init__(self, pacectl, folder, nodes):
        self.pacectl, self.folder, self.allowed = pacectl, folder, folder / "allowed"
        self.allowed.mkdir(parents=True)
        self.make("controller")
        for node in nodes:
            self.make(node)
            self.run("key", "add", node, self.folder / f"{node}.public", "--folder", self.allowed)

    def make(self, name):
        self.run("keygen", self.folder / name)

    def run(self, *words):
        subprocess.run([self.pacectl, *words], check=True, capture_output=True)

    def of_controller(self):
        return ["--curve-secret-file", self.folder / "controller.secret", "--curve-allowed-dir", self.allowed]

    def of_node(self, name):
        return ["--curve-server-key-file", self.folder / "controller.public", "--curve-secret-file", self.folder / f"{name}.secret"]
