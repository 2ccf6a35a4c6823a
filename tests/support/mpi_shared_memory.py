"""What ranks that are killed leave in /dev/shm: the same for every MPI. Mixins, with `mpi`, `launcher` and program() as in mpi_cases.MpiTest."""
import contextlib
import os
import signal

from harness import wait_until


def segments_of(pid):
    """Paths below /dev/shm that it has mapped and that are still there."""
    with open("/proc/%d/maps" % pid) as maps:
        return {line.split()[5] for line in maps if "/dev/shm/" in line and "(deleted)" not in line}


class SharedMemoryTests:
    """Tests run side by side and share /dev/shm, so each looks at what its own ranks have there."""
    leaves = False  # files that killed ranks leave; the others unlink theirs once all have opened them

    def words(self, *last):
        return [self.launcher, *(("--oversubscribe",) if self.mpi == "openmpi" else ()), "-np", "2", *self.program("mpi_faults"), "wait", *last]

    def segments_of(self, last):
        """Paths below /dev/shm that two ranks with this last argument (a number, which means nothing when they wait) have mapped, by process."""
        found = {}
        for pid, line in self.marked().items():
            if line.startswith(self.program("mpi_faults")[0]) and line.split()[-1] == last:
                found[pid] = segments_of(pid)
        self.assertEqual(len(found), 2, found)
        return found

    def test_what_killed_ranks_leave_goes_with_their_job(self):
        self.assertNotIn("ranks.shared_memory", self.kill_the_ranks("0").err)  # a job's last line says how it ended

    def test_what_killed_ranks_leave_goes_with_their_round(self):
        finished = self.kill_the_ranks("3", "--max-restarts", 1)
        if self.leaves:
            self.assertRegex(finished.err, "I ranks.shared_memory removed=")

    def kill_the_ranks(self, first_code, *options):
        """Of the first attempt, which ends with that code; the second has none. Afterwards theirs are gone, and those of others are not."""
        worker = self.sh('[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] || exit 0\n'
                         '[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.05; done; exit 0; }\n'
                         '%s >"$OUT/ranks" 2>&1; touch "$OUT/over"; exit %s' % (" ".join(self.words("70")), first_code))
        job = self.start("local", "--nodes", 2, *options, "--rsh", "--no-python", worker)
        wait_until(lambda: self.exists("ranks") and self.read("ranks").count("waits") == 2, "both ranks run")
        killed = self.segments_of("70")
        # Of the same user and of no job, made during the round, and alive.
        others = self.start_command(self.words("71"), env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        wait_until(lambda: others.out.text().count("waits") == 2, "the others run")
        alive = set.union(*self.segments_of("71").values())
        self.assertEqual(bool(alive), self.leaves)
        # First those who would clean up.
        launchers = [pid for pid, line in self.marked().items() if line.split()[-1] == "70" and pid not in killed and "sh" not in line.split()[0]]
        for pid in launchers + list(killed):
            with contextlib.suppress(ProcessLookupError):  # some go with their launcher
                os.kill(pid, signal.SIGKILL)
        finished = self.expect_code(job.finish(), 0)
        self.assertEqual([path for path in set.union(*killed.values()) if os.path.exists(path)], [])
        self.assertEqual([path for path in alive if not os.path.exists(path)], [])
        others.popen.send_signal(signal.SIGTERM)
        others.finish()
        return finished
