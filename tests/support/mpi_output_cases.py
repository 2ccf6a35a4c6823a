"""What ranks of an MPI print: their lines, prefixes and files."""
import os
import re

import mpi_cases


class OutputTests(mpi_cases.MpiTest):
    torn = 0  # lines that the launcher itself may tear

    def test_each_rank_has_its_lines_and_files(self):
        """Where --redirects, --tee, filter and prefix speak of ranks, they do not mean their launcher."""
        script = self.sh('rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; echo "out $rank"; echo "err $rank" >&2')
        flags = ("--log-dir", self.path("logs"), "--tee", "1", "--redirects", "2", "--log-line-prefix-template", "<${node} ${rank} ${local_rank}> ")
        finished = self.expect_code(self.run_job(*flags, "--", script), 0)
        self.assertEqual(sorted(finished.out.splitlines()), ["<node-1 0 0> out 0", "<node-2 1 0> out 1"])
        self.assertNotIn("err 0", finished.err)
        written = {}
        for folder, _, files in os.walk(self.path("logs")):
            for name in files:
                with open(os.path.join(folder, name)) as file:
                    written[os.path.join(os.path.basename(folder), name)] = file.read()
        for rank in "01":
            self.assertEqual(written[rank + "/stdout.log"], "out %s\n" % rank)
            self.assertEqual(written[rank + "/stderr.log"], "err %s\n" % rank)
        self.assertIn("<node-2 1 0> out 1\n", written["launcher/stdout.log"])

    def test_the_last_lines_of_a_hidden_rank_are_reported(self):
        script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] || exec sleep 1000; echo "no such file: weights"; exit 3')
        finished = self.run_job("--local-ranks-filter", "7", "--", script)
        self.expect_end(finished, 3, "rank 1 on node-2 failed first: exit code 3")
        self.assertNotIn("weights", finished.out)
        self.assertIn("no such file: weights", finished.err)

    def test_lines_in_pieces_stay_whole(self):
        """Python writes each word of an unbuffered print() by itself."""
        script = self.write("words.py", "for i in range(200): print('a', 'b', 'c', 'd', i)\n")
        finished = self.expect_code(self.run_job("--nproc-per-node", 2, "--", "/usr/bin/python3", "-u", script), 0)
        lines = re.sub(r"\[node-[12]:[0-3]\] ", "", finished.out).splitlines()
        whole = sum(re.fullmatch(r"a b c d \d+", line) is not None for line in lines)
        self.assertGreaterEqual(whole, 800 - self.torn, finished)
        self.assertEqual("".join(lines).count("a"), 800)  # nothing is lost
