"""What a page of the book has: its blocks, and the commands in them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PROMPTS = ("$ ", "# ")
# A block that is run here, and what it may say of itself.
HERE = {"", "fails", "eventually", "until-ctrl-c"}
# A block that is run elsewhere.
ELSEWHERE = {"package", "host", "build", "monitoring", "reference"}


@dataclass
class Command:
    """A command, and what it prints as far as that is shown."""

    text: str
    line: int
    shown: list[str] = field(default_factory=list)


@dataclass
class Block:
    """A fenced block of a page, or the call of a function of its setup."""

    info: str
    line: int
    lines: list[str] = field(default_factory=list)

    @property
    def language(self):
        return self.info.split(",")[0]

    @property
    def how(self):
        """What it says of itself after the comma."""
        return self.info.partition(",")[2]

    def commands(self):
        found = []
        rest = list(enumerate(self.lines, self.line + 1))
        while rest:
            number, line = rest.pop(0)
            if not line.startswith(PROMPTS):
                if found:
                    found[-1].shown.append(line)
                continue
            text = line[2:]
            while text.endswith("\\") and rest:
                text += "\n" + rest.pop(0)[1].removeprefix("> ")
            here = re.search(r"<<'?(\w+)'?", text)
            while here and rest:
                line = rest.pop(0)[1]
                text += "\n" + line
                if line == here[1]:
                    break
            found.append(Command(text, number))
        return found


def pages():
    """Every page, in the order of the book; README.md is one, too."""
    summary = (DOCS / "SUMMARY.md").read_text()
    listed = [(DOCS / path).resolve() for path in re.findall(r"\]\(([^)]+\.md)\)", summary)]
    return [ROOT / "README.md", *(page for page in listed if page != ROOT / "README.md")]


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    """The fenced blocks of a page in their order, and the calls of its setup's functions."""
    found, inside = [], None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = re.match(r"```(.*)$", line)
        call = re.match(r"<!-- book-test: (\w+) -->$", line)
        if inside is not None and fence:
            found.append(inside)
            inside = None
        elif inside is not None:
            inside.lines.append(line)
        elif fence:
            inside = Block(fence[1].strip(), number)
        elif call:
            found.append(Block("call", number, [call[1]]))
    return found


def prose(page):
    """The lines of a page that are in no block, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def is_run_here(block):
    return block.language == "console" and block.how in HERE
