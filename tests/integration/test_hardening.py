"""What the linker was told, seen in the real programs: no memory that is written and executed, no table of addresses to overwrite."""
import os
import re
import struct

import harness

LOAD, DYNAMIC, INTERPRETER, STACK, RELRO = 1, 2, 3, 0x6474e551, 0x6474e552
EXECUTE, WRITE = 1, 2
POSITION_INDEPENDENT = 3
FLAGS_1, NOW_1 = 0x6ffffffb, 1
LOADING = ("muster-pmix", "muster-probe")  # each may be left out of a build


class Program:
    """An ELF file of 64 bits, as far as this is about it."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.kind, = struct.unpack_from("<H", self.bytes, 16)
        at, = struct.unpack_from("<Q", self.bytes, 32)
        size, count = struct.unpack_from("<HH", self.bytes, 54)
        # type, flags, offset, address, physical address, bytes in the file, bytes in memory
        self.segments = [struct.unpack_from("<IIQQQQQ", self.bytes, at + size * number) for number in range(count)]

    def of(self, kind):
        return [segment for segment in self.segments if segment[0] == kind]

    def dynamic(self, tag):
        for _, _, offset, _, _, size, _ in self.of(DYNAMIC):
            for found, value in struct.iter_unpack("<QQ", self.bytes[offset:offset + size]):
                if found == tag:
                    return value
        return None

    @property
    def is_static(self):
        return not self.of(INTERPRETER)


def beside(name):
    return os.path.join(os.path.dirname(harness.BINARY), name)


class Programs(harness.MusterTest):
    def programs(self):
        return {name: Program(beside(name)) for name in (os.path.basename(harness.BINARY), *LOADING) if os.path.exists(beside(name))}

    def test_nothing_is_both_written_and_executed(self):
        for name, program in self.programs().items():
            with self.subTest(name):
                self.assertEqual([hex(segment[3]) for segment in program.of(LOAD) if segment[1] & EXECUTE and segment[1] & WRITE], [])
                stack, = program.of(STACK)
                self.assertEqual(stack[1] & EXECUTE, 0)

    def test_tables_of_addresses_are_read_only(self):
        for name, program in self.programs().items():
            with self.subTest(name):
                relro, = program.of(RELRO)
                self.assertGreater(relro[6], 4096)
                # The loader of a dynamic program must find all functions before that. A static one has no loader.
                if not program.is_static and not harness.is_sanitized() and Program(harness.BINARY).is_static:
                    self.assertTrue((program.dynamic(FLAGS_1) or 0) & NOW_1)

    def test_the_running_agent_has_them_so(self):
        os.mkfifo(self.path("end"))
        agent = self.start("run", self.sh('echo "up"\nread word <"$OUT/end"'))
        agent.wait_for("up\n")
        with open("/proc/%d/maps" % agent.agent_pid()) as file:
            maps = [(int(low, 16), int(high, 16), rights, path) for low, high, rights, path in
                    re.findall(r"^(\w+)-(\w+) (\S{4}) \S+ \S+ \S+ *(.*)$", file.read(), re.M)]
        with open(self.path("end"), "w") as file:
            file.write("end\n")
        self.expect_code(agent.finish(), 0)
        self.assertEqual([rights for _, _, rights, _ in maps if "w" in rights and "x" in rights], [])
        program = Program(harness.BINARY)
        relro, = program.of(RELRO)
        base = min(low for low, _, _, path in maps if path == os.path.realpath(harness.BINARY)) - program.of(LOAD)[0][3]
        begin, end = (base + relro[3] + 4095) // 4096 * 4096, (base + relro[3] + relro[6]) // 4096 * 4096
        self.assertEqual({rights for low, high, rights, _ in maps if low < end and high > begin}, {"r--p"})

    def test_what_is_linked_dynamically_is_protected_and_anywhere(self):
        """A dynamic program names what it calls; the static one is compiled alike (tests/tidy, releases_are_hardened)."""
        if not Program(harness.BINARY).is_static:
            return  # a build for debugging
        for name, program in self.programs().items():
            if name in LOADING:
                with self.subTest(name):
                    self.assertEqual(program.kind, POSITION_INDEPENDENT)
                    self.assertTrue(b"\0__stack_chk_fail\0" in program.bytes)


class Version(harness.MusterTest):
    def test_the_version_names_the_libraries_that_are_linked_in(self):
        lines = self.expect_code(self.run_muster("version"), 0).out.splitlines()
        self.assertRegex(lines[0], r"^muster \d+\.\d+\.\d+$")
        libraries = ("OpenSSL", "c-ares", "http-parser", "zlib", "SQLite", "JSON for Modern C\\+\\+", "spdlog", "fmt", "tl::expected",
                     "GNU C Library", r"libstdc\+\+")
        for library in libraries:
            self.assertRegex("\n".join(lines), r"(?m)^  %s \d+[\d.]*\b" % library)
        self.assertEqual(len(lines), 1 + len(libraries))
