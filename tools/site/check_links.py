"""Follows every link of a built site that stays in it, to its file and its anchor: check_links.py FOLDER."""

import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if found.get("id"):
            self.anchors.add(found["id"])
        if tag == "a" and found.get("name"):
            self.anchors.add(found["name"])
        for name in ("href", "src"):
            if found.get(name) is not None:
                self.links.append(found[name])


def main():
    folder = Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in folder.rglob("*.html")}
    followed, outside, broken = 0, 0, []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # it may be shown at any address
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                outside += 1
                continue
            followed += 1
            goal = path if not parts.path else (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if goal.is_dir():
                goal = goal / "index.html"
            if not goal.is_file() or (parts.fragment and goal in pages and
                                      urllib.parse.unquote(parts.fragment) not in pages[goal].anchors):
                broken.append(f"{path.relative_to(folder)}: {link}")
    for line in broken:
        print(line)
    print(f"{len(pages)} pages, {followed} links within the site followed, {len(broken)} broken; {outside} lead elsewhere")
    sys.exit(1 if broken else 0)


main()
