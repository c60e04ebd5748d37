"""Links that leave docs/ lead to the repository."""

import posixpath
import re

REPOSITORY = "https://github.com/gatefold/gatefold/blob/main/"


def on_page_markdown(markdown, page, **_):
    folder = posixpath.dirname("docs/" + page.file.src_uri)

    def outside(match):
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        return match[0] if path.startswith("docs/") else "](" + REPOSITORY + path + ")"

    return re.sub(r"\]\((\.\./[^)\s]*)\)", outside, markdown)
