"""The Debian packages that are tried: which, what they need of Debian, and the same ones with a higher version."""

import pathlib
import re
import subprocess

# What a node and its trainers have. Whatever these need of the same folder comes along.
WANTED = ("paced", "pace-controller", "pace-tools", "libpace1")


def field_of(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def names_of(relations):
    """The first choice of each relation, without version and architecture."""
    return [re.sub(r"[\s(:].*", "", relation.strip()) for relation in relations.split(",") if relation.strip()]


class Packages:
    """A folder of .deb files of one version."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.files_ = {field_of(path, "Package"): path for path in sorted(self.folder.glob("*.deb"))}

    def missing(self):
        return [name for name in WANTED if name not in self.files_]

    def __getitem__(self, name):
        return self.files_[name]

    def __contains__(self, name):
        return name in self.files_

    def needs_(self, name):
        return names_of(field_of(self.files_[name], "Pre-Depends")) + names_of(field_of(self.files_[name], "Depends"))

    def installed(self):
        """The names that are installed together."""
        chosen, waiting = [], list(WANTED)
        while waiting:
            name = waiting.pop(0)
            if name in self.files_ and name not in chosen:
                chosen.append(name)
                waiting += self.needs_(name)
        return chosen

    def of_debian(self):
        """What they need that is not in the folder."""
        return sorted({need for name in self.installed() for need in self.needs_(name) if need not in self.files_})

    def raised(self, folder):
        """The same contents as packages of a higher version, as the next release would bring them."""
        version = field_of(self.files_["paced"], "Version")
        higher = version + "+next1"
        folder.mkdir()
        for name in self.installed():
            tree = folder / name
            subprocess.run(["dpkg-deb", "--raw-extract", self.files_[name], tree], check=True)
            control = tree / "DEBIAN/control"
            text = control.read_text(encoding="utf-8")
            control.write_text(text.replace(version, higher), encoding="utf-8")
            subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, folder], check=True,
                           stdout=subprocess.DEVNULL)
            subprocess.run(["rm", "--recursive", tree], check=True)
        return Packages(folder)


def naming_the_controller(help_text, key="paced"):
    """The lines of a daemon's configuration that name a controller of its own machine, from what `pace-controller --help-config` says."""
    return (f'controller = "{re.search(r"tcp://127[.0-9]+:[0-9]+", help_text).group(0)}"\n'
            'curve_server_key_file = "/etc/pace/keys/controller.public"\n'
            f'curve_secret_file = "/etc/pace/keys/{key}.secret"\n')


def making_keys(node, key="paced"):
    """The commands that make a node's pair and let the controller know it."""
    return (("pacectl", "keygen", f"/etc/pace/keys/{key}"), ("pacectl", "key", "add", node, f"/etc/pace/keys/{key}.public"))
