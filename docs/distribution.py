"""Pack sources and wheel (`make dist`), with a front page whose pictures a package index can show.

A package index shows README.md without the files around it: links and pictures of the packed copy lead to the project's public
address, from setup.cfg (`project_urls`, "Source") or from `make dist ADDRESS=https://example.org/owner/screwbond`. Without an
address, links stay unchanged and a message states this.

The wheel works on every system. It contains the machine code of the solvers for the system that packs it, so the first run on
such a system need not compile the solvers; other systems compile them, as a checkout does.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!https?:)([^)]+)\)")
LINK = re.compile(r"((?:(?<!!)\[[^\]]*|\))\]\()(?!https?:|#)([^)]+)\)")


def published(text: str, address: str, tag: str) -> str:
    """Return a page of the top folder with links and pictures at a public address, in the layout of GitHub, GitLab and Gitea."""
    text = PICTURE.sub(rf"\1{address}/raw/{tag}/\2)", text)
    return LINK.sub(rf"\1{address}/blob/{tag}/\2)", text)


def public_address(setup: ConfigParser) -> str:
    """Return the address under `project_urls` of setup.cfg; "" without one."""
    urls = dict(line.split(" = ", 1) for line in setup["metadata"].get("project_urls", "").strip().splitlines())
    return urls.get("Source", "").rstrip("/")


def with_address(setup: str, address: str) -> str:
    """Return a setup.cfg with this address, unless the file already has one."""
    if "project_urls" in setup:
        return setup
    urls = {"Source": address, "Issues": f"{address}/issues", "Changelog": f"{address}/blob/main/CHANGELOG.md"}
    lines = "\n".join(f"    {name} = {url}" for name, url in urls.items())
    return setup.replace("[metadata]\n", f"[metadata]\nproject_urls =\n{lines}\n", 1)


def compile_solvers(folder: Path) -> None:
    """Compile the solvers of the sources in a folder, and store their machine code there for the wheel."""
    environment = {**os.environ, "SCREWBOND_CACHE": "off", "PYTHONPATH": str(folder)}
    target = folder / "bondgraph" / "emit" / "supplied"
    subprocess.run([sys.executable, "-m", "bondgraph.warming", str(target)], cwd=folder, env=environment, check=True)


def pack(out: Path, address: str = "") -> list[Path]:
    """Build sources and wheel from a copy of the files in git; return their paths."""
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    address = (address or public_address(setup)).rstrip("/")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, listed.split("\0")):
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
        if address:
            front, config = Path(folder) / "README.md", Path(folder) / "setup.cfg"
            front.write_text(published(front.read_text(encoding="utf-8"), address, f"v{setup['metadata']['version']}"), "utf-8")
            config.write_text(with_address(config.read_text(encoding="utf-8"), address), encoding="utf-8")
        else:
            print("no public address: package indexes will not show the pictures of README.md; run make dist ADDRESS=https://...")
        build = [sys.executable, "-m", "build", "--outdir", str(out.resolve())]
        subprocess.run([*build, "--sdist", folder], check=True)
        compile_solvers(Path(folder))
        subprocess.run([*build, "--wheel", folder], check=True)
    return sorted(out.glob(f"*-{setup['metadata']['version']}*"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.distribution", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--address", default="", help="public address of the sources, as https://host/owner/project")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(arguments)
    for path in pack(options.out, options.address):
        print(path)


if __name__ == "__main__":
    main()
