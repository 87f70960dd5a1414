"""Types: the package is typed as strictly as mypy can ask."""

import shutil
import subprocess
import sys

from support import FOLDER

mypy = "/usr/bin/mypy" if shutil.which("/usr/bin/mypy") else shutil.which("mypy")
if mypy is None:
    print("skipped: mypy is not installed (Debian's mypy)")
    sys.exit(77)
sys.exit(subprocess.run([mypy, "--config-file", "pyproject.toml", "--cache-dir", "/dev/null", "-p", "pace"], cwd=FOLDER,
                        check=False).returncode)
