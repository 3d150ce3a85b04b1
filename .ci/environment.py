"""Makes the virtual environment that everything is developed in, and sees to the system's parts.

    python3 .ci/environment.py venv DIRECTORY    a virtual environment with all that pyproject names
    python3 .ci/environment.py java              Java 17 or later, which Spark runs on
    python3 .ci/environment.py compiler          a C++ compiler

What is missing is installed where that can be done (root on a machine with apt-get); else one line
says what to install. Standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
JAVA_MINIMUM = 17


def main() -> None:
    """Runs the one command that is named."""
    match sys.argv[1:]:
        case ["venv", directory]:
            make_venv(Path(directory))
        case ["java"]:
            ensure_java()
        case ["compiler"]:
            ensure_compiler()
        case _:
            sys.exit(__doc__)


def make_venv(directory: Path) -> None:
    """A virtual environment with the dependencies, in which `import flintstate` finds python/."""
    python = directory / "bin" / "python"
    if not python.exists():
        say(f"making a virtual environment in {directory}")
        if subprocess.run([sys.executable, "-m", "venv", directory], check=False).returncode:
            shutil.rmtree(directory, ignore_errors=True)
            sys.exit("error: no virtual environment: install Python's venv (apt: python3-venv)")
    wanted = dependencies()
    say(f"installing {len(wanted)} Python packages and what they need")
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, *wanted], check=False).returncode:
        sys.exit("error: pip could not install the packages: see above; is the registry reachable?")
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    Path(site.stdout.strip(), "flintstate.pth").write_text(f"{ROOT / 'python'}\n")


def dependencies() -> list[str]:
    """What the project and its extras need, from pyproject."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return sorted({*project["dependencies"], *(name for extra in extras for name in extra)})


def ensure_java() -> None:
    """Java for Spark: installed, or a line that says what to install."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    found = java_version(java)
    if found >= JAVA_MINIMUM:
        return
    if home is None and install("Java 17", "openjdk-17-jre-headless", "default-jre-headless"):
        found = java_version(java)
    if found < JAVA_MINIMUM:
        what = f"is version {found}" if found else "is not there"
        sys.exit(
            f"error: Spark needs Java 17 or later, and {java} {what}: install it"
            " (apt: openjdk-17-jre-headless, macOS: brew install openjdk@17), or set JAVA_HOME"
        )


def java_version(java: str) -> int:
    """The major version, 0 where there is none."""
    if not shutil.which(java):
        return 0
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    major = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(major[1]) if major else 0


def ensure_compiler() -> None:
    """A C++ compiler; whether it is new enough, the build of the third parties says."""
    compiler = os.environ.get("CXX", "c++").split()[0]
    if shutil.which(compiler) or ("CXX" not in os.environ and install("GCC", "build-essential")):
        return
    sys.exit(
        f"error: no C++ compiler ({compiler}): install GCC 11 or Clang 14 or later"
        " (apt: build-essential, macOS: xcode-select --install), or name one in CXX"
    )


def install(what: str, *packages: str) -> bool:
    """Installs the first of the packages that can be, where this is root on a machine with apt."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    say(f"installing {what}")
    quietly("apt-get", "update")
    command = ("apt-get", "install", "--yes", "--no-install-recommends")
    return any(quietly(*command, name) for name in packages)


def quietly(*command: str) -> bool:
    """Whether the command succeeded; what it says is not shown."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"== {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
