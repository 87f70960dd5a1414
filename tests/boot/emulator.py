"""A machine of its own: Debian's kernel under QEMU, without hardware's help, with a root that lies in its memory."""

import subprocess

MEMORY_MB = 3072
KERNEL = "linux-image-cloud-amd64"


def newest_kernel(scratch):
    """Debian's kernel for virtual machines, unpacked: (its image, its modules)."""
    listed = subprocess.run(["apt-cache", "depends", "--important", KERNEL], check=True, text=True, stdout=subprocess.PIPE).stdout
    (package,) = [line.split()[-1] for line in listed.splitlines() if "Depends:" in line]
    # A folder of its own user's making, since apt downloads as another one.
    subprocess.run(["apt-get", "--quiet=2", "--option=APT::Sandbox::User=root", "download", package], check=True, cwd=scratch)
    (file,) = scratch.glob(f"{package}_*.deb")
    tree = scratch / "kernel"
    subprocess.run(["dpkg-deb", "--extract", file, tree], check=True)
    file.unlink()
    (image,) = tree.glob("boot/vmlinuz-*")
    (modules,) = tree.glob("lib/modules/*")
    return image, modules


def pack(root, archive):
    """The root as an archive that the kernel unpacks into memory."""
    with open(archive, "wb") as output:
        names = subprocess.Popen(["find", ".", "-print0"], cwd=root, stdout=subprocess.PIPE)
        subprocess.run(["cpio", "--null", "--create", "--format=newc", "--quiet"], cwd=root, stdin=names.stdout, stdout=output, check=True)
        if names.wait() != 0:
            raise RuntimeError(f"{root} could not be read whole")


def boot(kernel, archive, unit, seconds):
    """Boots until it powers off, and gives what came out of its serial port. It has no disk, no network and no other device."""
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", str(MEMORY_MB), "-nographic",
               "-nodefaults", "-no-user-config", "-no-reboot", "-serial", "stdio", "-kernel", kernel, "-initrd", archive,
               "-append", f"console=ttyS0 rdinit=/sbin/init quiet panic=-1 systemd.show_status=0 systemd.getty_auto=no systemd.unit={unit}"]
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as machine:
        try:
            said, _ = machine.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            machine.kill()
            said, _ = machine.communicate()
            raise RuntimeError(f"it has not powered off within {seconds} s:\n{said.decode(errors='replace')[-4000:]}") from None
        except BaseException:
            machine.kill()
            raise
    return said.decode(errors="replace")
