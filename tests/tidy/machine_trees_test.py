"""Tests of the fabric machines, tests/data/machines/fabric, and of support/machine_tree.py, which unpacks them.

The committed trees are what their descriptions make, and each link of them leads somewhere inside.
"""

import importlib.util
import pathlib
import posixpath
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent.parent
FABRIC = TESTS / "data" / "machines" / "fabric"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make_trees = load(FABRIC / "make_trees.py")
machine_tree = load(TESTS / "support" / "machine_tree.py")


def where(entries, path, links=0):
    """The path that `path` leads to when all links are followed in `entries`; None: nowhere, or out of the tree."""
    at = "/"
    parts = path.strip("/").split("/")
    while parts:
        part = parts.pop(0)
        if part == "..":
            if at == "/":
                return None
            at = posixpath.dirname(at)
            continue
        at = posixpath.join(at, part)
        if at not in entries:
            return None
        if entries[at] is not None:
            links += 1
            if links > 40 or entries[at].startswith("/"):
                return None
            parts = entries[at].split("/") + parts
            at = posixpath.dirname(at)
    return at


def with_folders(tree):
    """path -> target of a link, None for all else; with the folders that no entry names."""
    entries = {"/": None}
    for path, kind, value in machine_tree.entries_of(tree):
        entries[path] = value if kind == "link" else None
        while (path := posixpath.dirname(path)) not in entries:
            entries[path] = None
    return entries


class Trees(unittest.TestCase):
    def test_each_description_has_its_tree_and_each_tree_its_description(self):
        self.assertEqual(sorted(path.stem for path in FABRIC.glob("*.tree")), sorted(make_trees.MACHINES))

    def test_the_committed_trees_are_what_make_trees_makes(self):
        for name in make_trees.MACHINES:
            with self.subTest(name):
                self.assertTrue((FABRIC / f"{name}.tree").read_text() == make_trees.make(name), "run make_trees.py")

    def test_each_link_leads_somewhere_inside(self):
        for name in make_trees.MACHINES:
            entries = with_folders(FABRIC / f"{name}.tree")
            for path, target in entries.items():
                if target is not None:
                    self.assertIsNotNone(where(entries, path), f"{name}: {path} -> {target}")

    def test_one_is_found_on_the_disk_as_it_is_in_the_text(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = FABRIC / "pcie-l40s.tree"
            machine_tree.unpack(tree, folder)
            entries = with_folders(tree)
            for path, kind, value in machine_tree.entries_of(tree):
                place = pathlib.Path(folder + path)
                if kind == "link":
                    self.assertEqual(str(place.resolve()), str(pathlib.Path(folder).resolve()) + where(entries, path))
                else:
                    self.assertEqual(place.is_file() and place.read_text(), value if kind == "file" else False)


class Unpacking(unittest.TestCase):
    def unpack(self, text):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "one.tree").write_text(text)
        machine_tree.unpack(folder / "one.tree", folder / "root")
        return folder / "root"

    def test_each_kind_of_entry(self):
        root = self.unpack("# words\n# /no: entry\n/a/0000:18:00.0/mtu: 9000 or so\n/a/lines:\n    one\n    \n      two\n"
                           "/a/link -> 0000:18:00.0\n/a/broken ! EINVAL\n/dev/nvidia0\n/empty/\n")
        self.assertEqual((root / "a/link/mtu").read_text(), "9000 or so\n")
        self.assertEqual((root / "a/lines").read_text(), "one\n\n  two\n")
        self.assertEqual((root / "dev/nvidia0").read_text(), "")
        self.assertEqual(list((root / "empty").iterdir()), [])
        self.assertFalse((root / "a/broken").exists())

    def test_a_bad_line_is_named_with_its_number(self):
        for line in ("a: no root", "/", "/a/../b: 1", "/a//b", "/a:", "/a ->", "/a ! EWHAT", "/a ? x", "/a -> b\n    c", "/b", "# late", ""):
            with self.subTest(line), self.assertRaisesRegex(machine_tree.BadTree, "one.tree:2"):
                self.unpack(f"/b: 1\n{line}\n")

    def test_a_tree_ends_with_a_newline(self):
        with self.assertRaisesRegex(machine_tree.BadTree, "one.tree:1: no newline"):
            self.unpack("/b: 1")

    def test_lines_without_a_path_that_they_belong_to(self):
        for text in ("    one\n", "/b: 1\n    one\n", "# words\n    one\n"):
            with self.subTest(text), self.assertRaisesRegex(machine_tree.BadTree, "lines belong|no path"):
                self.unpack(text)


if __name__ == "__main__":
    unittest.main()
