#!/usr/bin/env python3
"""How much of pages comes out as Markdown: measured on pages that lie on this machine anyway.

    measure.py PAIRS COMMAND...     PAIRS: lines of `page.html TAB expected TAB base-url`

`expected` is Markdown (`.md`), docutils XML (`.xml`, as `sphinx-build -b xml` writes it) or the HTML
that reader mode should keep (`.html`). COMMAND is run once with a list of `page TAB out TAB base`
as its last argument and writes a Markdown file for each page; it prints `page TAB bytes TAB us ...`.
Prints the share of words kept and right (F1), of code blocks whole in a fence, of table rows, of
headings, of absolute links, and the speed. Pages of others are read where they lie.
"""
import collections
import html.parser
import os
import re
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

WORD = re.compile(r"\w+")


class Facts:
    def __init__(self):
        self.words, self.code, self.rows, self.headings, self.links = [], [], [], [], []


def normal(text):
    return " ".join(WORD.findall(text.lower()))


def plain(line):
    line = re.sub(r"\\\|", " ", line)
    # What is said for a picture is in no text that reader mode or a generator gives.
    line = re.sub(r"!\[((?:\\.|[^\]\\])*)\](\((?:[^()\s]|\([^()\s]*\))*\))?", " ", line)
    line = re.sub(r"\]\((?:[^()\s]|\([^()\s]*\))*(?:\s+\"[^\"]*\")?\)", "]", line)
    line = re.sub(r"\]\[[^\]]*\]", "]", line)
    line = re.sub(r"\]: *\S+", "]:", line) if re.match(r"\s*\[[^\]]+\]: *(https?|#|\.|/)", line) else line
    line = re.sub(r"</?(sup|sub|kbd|br|a|b|i|em|p|div|span|img|code|strong|details|summary)\b[^>]*>", " ", line)
    return line.replace("\\", "")


def of_markdown(text):
    facts, fence, prefix, body = Facts(), None, "", []
    for line in text.split("\n"):
        bare = re.sub(r"^(\s*>)*\s*", "", line)
        if fence:
            if bare.rstrip() == fence:
                facts.code.append("\n".join(body))
                facts.words += WORD.findall("\n".join(body))
                fence = None
            else:
                cut = line[len(prefix):] if line.startswith(prefix) else line.lstrip()
                body.append(cut)
            continue
        opened = re.match(r"^((?:\s*>)*\s*(?:[-*] |\d+\. |: |\[\^[^\]]*\]: )*)(`{3,}|~{3,})[^`]*$", line)
        if opened:
            fence, body = opened.group(2), []
            prefix = re.sub(r"[^>\s]", " ", opened.group(1))
            continue
        facts.links += re.findall(r"\]\((https?://(?:[^()\s]|\([^()\s]*\))*)", line)
        facts.links += re.findall(r"^\[[^\]]+\]: *(https?://\S+)", bare)
        heading = re.match(r"^#{1,6} +(.*?)#*$", bare)
        if heading:
            facts.headings.append(normal(plain(heading.group(1))))
        if bare.startswith("|"):
            if not re.match(r"^\|[\s:|-]+$", bare):
                facts.rows.append(normal(plain(bare)))
        facts.words += WORD.findall(plain(bare))
    return facts


def of_docutils(path):
    facts = Facts()

    def text(node):
        return "".join(node.itertext())

    def walk(node, parent=""):
        tag = node.tag
        if tag in ("comment", "system_message", "meta", "toctree", "substitution_definition", "raw"):
            return
        if tag in ("literal_block", "doctest_block"):
            facts.code.append(text(node).rstrip("\n"))
        if tag == "title" and parent in ("section", "document"):
            facts.headings.append(normal(text(node)))
        if tag == "row":
            facts.rows.append(normal(" ".join(text(entry) for entry in node)))
        if tag == "reference" and node.get("refuri", "").startswith("http"):
            facts.links.append(node.get("refuri"))
        if node.text:
            facts.words += WORD.findall(node.text)
        for child in node:
            walk(child, tag)
            if child.tail:
                facts.words += WORD.findall(child.tail)

    walk(ET.parse(path).getroot())
    return facts


class Text(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.words, self.skip = [], 0

    def handle_starttag(self, tag, attributes):
        self.skip += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.skip -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.skip:
            self.words += WORD.findall(data)


def expected_facts(path):
    if path.endswith(".xml"):
        return of_docutils(path)
    text = open(path, encoding="utf-8", errors="replace").read()
    if path.endswith(".html"):
        facts, parser = Facts(), Text()
        parser.feed(text)
        facts.words = parser.words
        return facts
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[-1]
    return of_markdown(text)


def f1(found, expected):
    found, expected = (collections.Counter(w.lower() for w in words) for words in (found, expected))
    same = sum((found & expected).values())
    total = sum(found.values()) + sum(expected.values())
    return 2 * same / total if total else 1.0


def share(found, expected):
    """How many of the expected are among the found, each found one used once."""
    left = collections.Counter(found)
    hits = 0
    for one in expected:
        if left[one] > 0:
            left[one] -= 1
            hits += 1
    return hits, len(expected)


def main():
    pairs = [line.rstrip("\n").split("\t") for line in open(sys.argv[1]) if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        jobs = os.path.join(folder, "jobs")
        with open(jobs, "w") as out:
            for at, pair in enumerate(pairs):
                base = pair[2] if len(pair) > 2 else "https://example.com/docs/page"
                out.write(f"{pair[0]}\t{folder}/{at}.md\t{base}\n")
        ran = subprocess.run(sys.argv[2:] + [jobs], capture_output=True, text=True)
        times = {}
        for line in ran.stdout.splitlines():
            fields = line.split("\t")
            times[fields[0]] = (int(fields[1]), int(fields[2]), fields[3] if len(fields) > 3 else "")
        scores, sums, worst = [], collections.defaultdict(lambda: [0, 0]), []
        for at, pair in enumerate(pairs):
            name = f"{folder}/{at}.md"
            text = open(name, encoding="utf-8").read() if os.path.exists(name) else ""
            found, expected = of_markdown(text), expected_facts(pair[1])
            score = f1(found.words, expected.words)
            scores.append(score)
            row = [f"{score:.3f}"]
            for what in ("code", "rows", "headings", "links"):
                wanted = [x for x in getattr(expected, what) if x]
                if what == "code":
                    have = [x.rstrip() for x in getattr(found, what)]
                    wanted = [x.rstrip() for x in wanted]
                else:
                    have = getattr(found, what)
                if what == "links":
                    have, wanted = set(x.rstrip("/") for x in have), set(x.rstrip("/") for x in wanted)
                hits, total = share(have, wanted)
                sums[what][0] += hits
                sums[what][1] += total
                row.append(f"{what} {hits}/{total}")
            worst.append((score, pair[0], " ".join(row), times.get(pair[0], ("", "", ""))[2]))
        seconds = sum(time for _, time, _ in times.values()) / 1e6
        size = sum(bytes_ for bytes_, _, _ in times.values())
        line = [f"{len(pairs)} pages", f"F1 {statistics.mean(scores):.3f}"]
        for what, (hits, total) in sums.items():
            line.append(f"{what} {hits / total:.3f} ({total})" if total else f"{what} -")
        if seconds:
            line.append(f"{size / seconds / 1e6:.1f} MB/s")
            line.append(f"p50 {statistics.median(t for _, t, _ in times.values()) / 1000:.1f} ms")
        print(", ".join(line))
        if os.environ.get("WORST"):
            for entry in sorted(worst)[: int(os.environ["WORST"])]:
                print(" ", *entry[1:])


if __name__ == "__main__":
    main()
