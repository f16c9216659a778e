#!/usr/bin/env python3
"""Copies source files and tells where other programs find their declarations.

    declarations.py FOLDER COUNT LANGUAGE ROOT...

Takes files of the language from below the roots into FOLDER, and prints a line of JSON for each of COUNT declarations:
its path there, its name with what it is in, and its lines. Where FOLDER is - nothing is copied, and paths are relative to the
folder of the first root. Python's are those of `ast`, Rust's of syn, TypeScript's and
JavaScript's of TypeScript's own parser, all others those of universal-ctags, which has no first line with attributes and
comments: `at` is then the line of the name. The choice is the same every time.
"""
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pilcrow-tests", "names")
ENDS = {
    "c": (".c", ".h"), "cpp": (".cpp", ".cc", ".hpp"), "c-sharp": (".cs",), "go": (".go",), "java": (".java",),
    "javascript": (".js", ".mjs"), "lua": (".lua",), "php": (".php",), "python": (".py",), "ruby": (".rb",),
    "rust": (".rs",), "typescript": (".ts",),
}
# As ctags calls them.
CTAGS = {"c": "C", "cpp": "C++", "c-sharp": "C#", "go": "Go", "java": "Java", "lua": "Lua", "php": "PHP", "ruby": "Ruby"}
# What is no declaration in the file, and what is inside of a body.
LEFT_OUT = {"alias", "package", "packageName", "local", "anonMember", "unknown", "parameter", "label", "externvar", "header",
            "namespace", "variable", "library", "prototype"}
WITH_BODY = {"func", "function", "method", "class", "struct", "interface", "trait", "enum", "module"}
AROUND = {"class", "struct", "interface", "trait", "enum", "union", "unknown"}
ONLY = {"lua": ("function",), "c-sharp": ("class", "interface", "struct", "enum", "method")}
NAME = re.compile(r"[\w.:~$?!=]+")


def chosen(language, roots):
    found = []
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(ENDS[language]) and not name.endswith((".d.ts", ".min.js")) and not os.path.islink(path):
                    if 500 < os.path.getsize(path) < 60_000:
                        found.append(path)
    random.Random(7).shuffle(found)
    return found[:250]


def of_python(paths):
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
        except (SyntaxError, ValueError):
            continue
        yield from of_python_body(path, tree.body, "")


def of_python_body(path, body, around):
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(it.lineno for it in node.decorator_list)])
            yield path, around + node.name, first, node.end_lineno
            if isinstance(node, ast.ClassDef):
                yield from of_python_body(path, node.body, around + node.name + ".")
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield path, around + node.targets[0].id, node.lineno, node.end_lineno


def of_program(command, paths):
    told = subprocess.run(command, input="\n".join(paths), capture_output=True, text=True, check=True)
    for line in told.stdout.splitlines():
        path, name, first, last = line.split("\t")
        yield path, name, int(first), int(last)


def of_ctags(language, paths):
    command = ["ctags", "--output-format=json", "--sort=no", "--fields=+neKs", "-o", "-", "-L", "-",
               f"--languages={CTAGS[language]}", f"--language-force={CTAGS[language]}"]
    told = subprocess.run(command, input="\n".join(paths), capture_output=True, text=True, check=True)
    for line in told.stdout.splitlines():
        tag = json.loads(line)
        name = tag["name"].split(".")[-1] if language == "c-sharp" else tag["name"]
        # Of the scopes of Ruby and C# some are those of what came before, or parameters of a type.
        around = tag.get("scope", "").replace("::", ".").replace("\\", ".").split(".")[-1]
        if language in ("ruby", "c-sharp") or tag.get("scopeKind") not in AROUND or len(around) < 2:
            around = ""
        # Of these languages ctags takes calls, parameters and constraints for other kinds.
        if tag["kind"] not in ONLY.get(language, (tag["kind"],)):
            continue
        # A use of a macro, and a template made for a type, declare nothing by that name.
        is_macro = name.isupper() and language in ("c", "cpp") and tag["kind"] not in ("macro", "enumerator")
        is_use = re.match(r"/\^\s*(template\s+[^<\s]|#\s*undef)", tag.get("pattern") or "")
        # Lua: `list = map(function` is no function of that name.
        is_use = is_use or language == "lua" and not re.search(r"function\s+[\w.:]|=\s*function\b", tag["pattern"])
        if tag["kind"] in LEFT_OUT or "__anon" in name + around or not NAME.fullmatch(name) or is_macro or is_use:
            continue
        # Of what has no body the end is often that of its first line; in Ruby here documents mislead it.
        last = tag.get("end") if tag["kind"] in WITH_BODY and language != "ruby" else None
        yield tag["path"], ".".join(it for it in (around, name) if it), tag["line"], last


def main():
    folder, count, language, *roots = sys.argv[1:]
    paths = []
    if folder == "-":
        folder = os.path.dirname(os.path.abspath(roots[0]))
        paths = sorted(os.path.abspath(it) for it in chosen(language, roots) if "broken" not in it)
        roots = []
    for number, path in enumerate(chosen(language, roots)):
        name = f"{number:03}-{os.path.basename(path)}"
        shutil.copyfile(path, os.path.join(folder, name))
        paths.append(os.path.join(folder, name))
    if language == "python":
        found = of_python(paths)
    elif language == "rust":
        found = of_program([os.path.join(CACHE, "bin", "rust-spans")], paths)
    elif language in ("typescript", "javascript"):
        os.environ["NODE_PATH"] = os.path.join(CACHE, "node_modules")
        found = of_program(["node", os.path.join(HERE, "ts_spans.js")], paths)
    else:
        found = of_ctags(language, paths)
    found = sorted(set(found), key=str)
    random.Random(7).shuffle(found)
    with_first = language in ("python", "rust", "typescript", "javascript")
    for path, name, first, last in found[: int(count)]:
        lines = {"first": first, "last": last} if with_first else {"at": first, "last": last}
        print(json.dumps({"path": os.path.relpath(path, folder), "name": name, **lines}))


main()
