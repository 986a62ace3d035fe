"""Gathers the pages of the site: stage.py REPOSITORY PAGES.

docs/ is taken as it is. Links that leave docs/ lead to copies: Markdown becomes a page below repository/, everything else a file
below it, so that the site needs nothing but itself. Comments that name the source of a number are left out.
"""

import os
import re
import shutil
import sys
from pathlib import Path

LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")


def is_elsewhere(target):
    return re.match(r"[a-z]+:|#|/", target) is not None


class Site:
    def __init__(self, repository, pages):
        self.repository = repository
        self.pages = pages
        self.waiting = []
        self.known = {}

    def place_of(self, source):
        """Where a file of the repository lies in the site; it is copied when all links are known."""
        if source not in self.known:
            inside = source.relative_to(self.repository)
            if inside.parts[0] == "docs":
                self.known[source] = Path(*inside.parts[1:])
            elif inside == Path("README.md"):
                self.known[source] = Path("index.md")
            else:
                self.known[source] = Path("repository") / inside
            self.waiting.append(source)
        return self.known[source]

    def linked(self, source, target):
        path, _, fragment = target.partition("#")
        file = Path(os.path.normpath(source.parent / path))
        if file.is_dir():
            listing = file / "README.md"
            if not listing.exists():
                return self.folder(source, file)
            file = listing
        if not file.is_file():
            raise SystemExit(f"{source.relative_to(self.repository)}: the link to {target} leads nowhere")
        place = os.path.relpath(self.place_of(file), self.place_of(source).parent)
        return place + ("#" + fragment if fragment else "")

    def folder(self, source, folder):
        """A folder without a README: a page with the list of its files."""
        inside = folder.relative_to(self.repository)
        page = Path("repository") / inside / "files.md"
        lines = [f"# {inside}", ""]
        for file in sorted(folder.iterdir()):
            if file.is_file() and not file.name.startswith("."):
                self.place_of(file)
                lines.append(f"- [{file.name}]({os.path.relpath(self.known[file], page.parent)})")
        (self.pages / page).parent.mkdir(parents=True, exist_ok=True)
        (self.pages / page).write_text("\n".join(lines) + "\n")
        return os.path.relpath(page, self.place_of(source).parent)

    def copy(self, source):
        goal = self.pages / self.place_of(source)
        goal.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            shutil.copyfile(source, goal)
            return
        text = re.sub(r"<!--=.*?-->", "", source.read_text())
        parts = re.split(r"(^```.*?^```$)", text, flags=re.S | re.M)  # code has no links
        for k in range(0, len(parts), 2):
            parts[k] = LINK.sub(lambda found: found[0] if is_elsewhere(found[2]) else
                                found[1] + self.linked(source, found[2]) + found[3], parts[k])
        goal.write_text("".join(parts))

    def gather(self):
        for page in sorted((self.repository / "docs").rglob("*.md")):
            self.place_of(page)
        self.place_of(self.repository / "README.md")
        while self.waiting:
            self.copy(self.waiting.pop())


Site(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()).gather()
