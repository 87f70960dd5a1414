#!/usr/bin/env python3
"""Takes out of an image's archive what differs from one making to the next: settle.py ARCHIVE NAME:TAG. Prints the image's digest.

buildah writes the number of the container that the image was made from, and a host name drawn from it, into the image's
configuration, whose digest names the image; nothing reads either. The archive's layers stay as they are.
"""

import hashlib
import io
import json
import os
import sys
import tarfile


def settled(configuration):
    """The image's configuration without the container that it was made from."""
    document = json.loads(configuration)
    for name in ("container", "container_config"):
        document.pop(name, None)
    document["config"].pop("Hostname", None)
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def add(archive, name, data, length):
    """A file of root's, of no age."""
    member = tarfile.TarInfo(name)
    member.size = length
    archive.addfile(member, data)


def rewrite(path, reference):
    """Writes the archive anew, in its place. Gives the image's digest."""
    with tarfile.open(path) as old, tarfile.open(path + ".new", "w", format=tarfile.GNU_FORMAT) as new:
        (image,) = json.load(old.extractfile("manifest.json"))
        configuration = settled(old.extractfile(image["Config"]).read())
        digest = hashlib.sha256(configuration).hexdigest()
        manifest = json.dumps([{"Config": f"{digest}.json", "RepoTags": [reference], "Layers": image["Layers"]}]).encode()
        for layer in image["Layers"]:
            add(new, layer, old.extractfile(layer), old.getmember(layer).size)
        add(new, f"{digest}.json", io.BytesIO(configuration), len(configuration))
        add(new, "manifest.json", io.BytesIO(manifest), len(manifest))
    os.replace(path + ".new", path)
    return digest


if __name__ == "__main__":
    print(rewrite(sys.argv[1], sys.argv[2]))
