"""Manifests in the documentation are what the command above them prints: in docs/kubernetes.md as a block of their own, in examples/controllers
as the file that the command writes. RENEW_PAGES=1 writes them anew."""
import os
import re
import shlex
import unittest

from harness import EXAMPLES, ROOT, MusterTest

KUBERNETES = os.path.join(ROOT, "docs", "kubernetes.md")
CONTROLLERS = os.path.join(EXAMPLES, "controllers")
RENEW = os.environ.get("RENEW_PAGES") == "1"
COMMAND = r"```sh\n(muster render (?:[^`]|`(?!``))*?)\n```\n"


def read(path):
    with open(path) as file:
        return file.read()


class RenderedPage(MusterTest):
    def rendered(self, words):
        return self.expect_code(self.run_muster(*words, cwd=ROOT), 0).out

    def test_each_manifest_of_the_page_is_that_of_the_command_above_it(self):
        page, commands = read(KUBERNETES), 0

        def renewed(match):
            nonlocal commands
            commands += 1
            words = shlex.split(match[1].replace("\\\n", " "))
            return "```sh\n%s\n```\n%s```yaml\n%s```\n" % (match[1], match[2], self.rendered(words[1:]))

        new = re.sub(COMMAND + r"((?:(?!```).)*?)```yaml\n(.*?)```\n", renewed, page, flags=re.DOTALL)
        self.assertGreater(commands, 0)
        if RENEW:
            with open(KUBERNETES, "w") as file:
                file.write(new)
        self.assertEqual(new, page)

    def test_each_example_is_what_its_command_writes(self):
        made = {"README.md"}
        for command in re.findall(COMMAND, read(os.path.join(CONTROLLERS, "README.md"))):
            words = shlex.split(command.replace("\\\n", " "))
            self.assertEqual(words[-2], ">", command)
            made.add(words[-1])
            with self.subTest(file=words[-1]):
                path = os.path.join(CONTROLLERS, words[-1])
                new = self.rendered(words[1:-2])
                if RENEW:
                    with open(path, "w") as file:
                        file.write(new)
                self.assertEqual(new, read(path))
        self.assertEqual(made, set(os.listdir(CONTROLLERS)))


if __name__ == "__main__":
    unittest.main()
