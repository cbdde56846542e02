"""Checks of pages: balanced tags, unique names and valid references."""

import unicodedata
from html.parser import HTMLParser
from itertools import pairwise

CONTROLS = "\x1b]0;t\x07\x1b[31m\r\x9b2J\x7f\u202e"  # set the title of a terminal, color and clear it, reverse lines
CONTROLS_SHOWN = r"\x1b]0;t\x07\x1b[31m\r\x9b2J\x7f\u202e"
_NAME = "a<script>alert('1')</script>&\"$x^2${}" + "_long" * 25 + ".csv"  # name of a file
HOSTILE = _NAME.format(CONTROLS)
HOSTILE_SHOWN = _NAME.format(CONTROLS_SHOWN)

_VOID = {"meta", "link", "img", "source", "br", "hr"}


class Page(HTMLParser):
    """Elements of a page, their text, and errors in its tags."""

    def __init__(self, html):
        super().__init__()
        self.open, self.faults, self.elements = [], [], []
        self.texts = {}
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is never closed" for tag, _ in self.open]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(set(names)) < len(names):
            self.faults.append(f"an attribute twice in <{tag}>")
        number = len(self.elements)
        self.elements.append((tag, dict(attrs)))
        self.texts[number] = ""
        if tag not in _VOID:
            self.open.append((tag, number))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1][0] if self.open else 'nothing'}")
        else:
            self.open.pop()

    def handle_data(self, data):
        for _, number in self.open:
            self.texts[number] += data

    def find(self, tag):
        """Attributes of the elements with a tag."""
        return [attrs for name, attrs in self.elements if name == tag]

    def text(self, tag):
        """Texts of the elements with a tag, in order."""
        return [self.texts[k].strip() for k, (name, _) in enumerate(self.elements) if name == tag]


def faults(html):
    """Return all errors of a page."""
    page = Page(html)
    found = list(page.faults)
    names = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    found += [f"id {name} twice" for name in set(names) if names.count(name) > 1]
    for tag, attrs in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            found += [f"{tag}: no element {name}" for name in attrs.get(key, "").split() if name not in names]
        href = attrs.get("href", "")
        found += [f"no element {href}"] if href.startswith("#") and href[1:] not in names else []
        for key in ("href", "src", "srcset", "action", "data"):
            address = attrs.get(key) or "#"
            found += [f"{tag} {key} leaves the page: {address[:40]}"] if not address.startswith(("#", "data:")) else []
        found += [f"{tag} runs {key}" for key in attrs if key.startswith("on")]
        found += [f"{tag} is not wanted"] if tag in ("script", "iframe", "object", "form") else []
        found += ["img without words"] if tag == "img" and not attrs.get("alt") else []
        found += ["th without scope"] if tag == "th" and "scope" not in attrs else []
    levels = [int(tag[1]) for tag, _ in page.elements if tag in ("h1", "h2", "h3", "h4")]
    found += ["the first heading is no h1"] if levels[:1] != [1] or levels.count(1) != 1 else []
    found += ["a heading skips a level" for a, b in pairwise(levels) if b > a + 1]
    found += [f"no {tag}" for tag in ("main", "nav", "header", "footer") if len(page.find(tag)) != 1]
    found += ["no language"] if page.find("html") != [{"lang": "en"}] else []
    return found


def control_characters(text):
    """Return the control characters of a text, except line breaks."""
    return {each for each in text if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each != "\n"}
