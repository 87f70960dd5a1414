"""What Enterprise Linux 9 gives its packages: a package that provides it, so that dnf resolves ours against it."""

import pathlib
import re
import subprocess

# The newest versions that it has.
FLOOR = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}

# Its base's, of which this machine has the same major versions. packaging/rpm/make has the same table.
LIBRARIES = ("ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
             "libsystemd.so.0", "libzstd.so.1", "libnuma.so.1", "libgssapi_krb5.so.2", "libibverbs.so.1", "libmlx5.so.1", "librdmacm.so.1",
             "libz.so.1", "libmicrohttpd.so.12", "libcrypto.so.3", "libssl.so.3")
OTHERS = ("rtld(GNU_HASH)", "systemd", "/bin/sh", "/sbin/ldconfig", "/usr/bin/python3", "/usr/bin/pkg-config", "python(abi) = 3.9")

SPEC = """\
Name: enterprise-linux
Version: 9
Release: 1
Summary: What Enterprise Linux 9 provides
License: none
{provides}
%description
What Enterprise Linux 9 provides.
%files
"""


def is_newer(name):
    """Whether a version such as GLIBC_2.36 is newer than what Enterprise Linux 9 has. Names without a number are not."""
    found = re.fullmatch(r"(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)", name)
    return found is not None and tuple(map(int, found[2].split("."))) > FLOOR[found[1]]


def versions_of(path):
    """The versions of symbols that a library defines."""
    text = subprocess.run(["readelf", "--version-info", "--wide", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"Name: (\S+)", text.partition("Version definition section")[2].partition("Version needs section")[0])


def provides():
    """One capability a line, as rpm names them."""
    cache = subprocess.run(["/sbin/ldconfig", "--print-cache"], check=True, capture_output=True, text=True).stdout
    lines = list(OTHERS)
    for library in LIBRARIES:
        lines.append(f"{library}()(64bit)")
        found = re.search(rf"^\s*{re.escape(library)} \(libc6,x86-64[^)]*\) => (\S+)$", cache, re.MULTILINE)
        if found:
            lines += [f"{library}({name})(64bit)" for name in versions_of(found[1]) if not is_newer(name)]
    return lines


def make_package(folder):
    """Writes the package into the folder."""
    spec = pathlib.Path(folder) / "enterprise-linux.spec"
    spec.write_text(SPEC.format(provides="".join(f"Provides: {line}\n" for line in provides())), encoding="utf-8")
    subprocess.run(["rpmbuild", "-bb", "--define", f"_topdir {folder}/rpm", "--define", f"_rpmdir {folder}", spec], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    spec.unlink()
