"""The released binary itself: one file that runs wherever the kernel does."""
import os
import struct

import harness

PT_INTERP, PT_DYNAMIC = 3, 2
MOST_BYTES = 10 << 20


class Release(harness.MusterTest):
    def program_headers(self):
        """The kinds of segment of the ELF file (elf(5), 64 bit)."""
        with open(harness.BINARY, "rb") as file:
            head = file.read(64)
            offset, = struct.unpack_from("<Q", head, 32)
            size, count = struct.unpack_from("<HH", head, 54)
            file.seek(offset)
            return [struct.unpack("<I", file.read(size)[:4])[0] for _ in range(count)]

    def test_it_needs_no_library_and_no_loader(self):
        self.assertNotIn(PT_INTERP, self.program_headers())
        self.assertNotIn(PT_DYNAMIC, self.program_headers())

    def test_it_is_small(self):
        self.assertLessEqual(os.path.getsize(harness.BINARY), MOST_BYTES)
