"""What can stand between an mpirun and its daemons, each ready to be called on loopback: a bare agent in C (the floor), `muster rsh` with
and without a job secret, ssh, and ssh over connections that are kept. All hosts are this machine under the names node-1, node-2, ..."""
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness import CouldNotRun, free_port, helper

READY_S = 20
# Tells how to call the agents of the job, and keeps them until it is told.
WORKER = '#!/bin/sh\n[ "$RANK" != 0 ] || { env >"%s.new"; mv "%s.new" "%s"; }\nexec sleep 1000\n'
# SHLVL: bash below sshd reads ~/.bashrc otherwise, and what stands there is not to be measured.
SSHD = """Port %(port)d
ListenAddress 127.0.0.1
HostKey %(folder)s/host
AuthorizedKeysFile %(folder)s/key.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowTcpForwarding no
X11Forwarding no
PrintMotd no
UseDNS no
MaxStartups 512:30:1024
MaxSessions 512
SetEnv SHLVL=2
"""
CLIENT = """Host *
HostName 127.0.0.1
Port %(port)d
IdentityFile %(folder)s/key
IdentitiesOnly yes
UserKnownHostsFile %(folder)s/known_hosts
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
BatchMode yes
LogLevel ERROR
ConnectTimeout 10
"""
KEPT = """ControlMaster auto
ControlPath %(folder)s/%%n
ControlPersist 600
"""


@dataclass(frozen=True)
class Shell:
    """`program`: one word. `options`: before the host. `role`: as of Subject."""
    name: str
    role: str
    program: str
    options: tuple = ()
    variables: dict = field(default_factory=dict)

    def call(self, host, *words):
        return (self.program, *self.options, host, *words)


def wait_for(file, what):
    deadline = time.monotonic() + READY_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise CouldNotRun(f"{what} was not there after {READY_S} s")
        time.sleep(0.01)


def bare_agent(bench):
    port, ready = free_port(), bench.scratch / "bare-agent"
    program = helper("bare_agent")
    bench.start((program, "--serve", port, ready))
    wait_for(ready, "the bare agent")
    return Shell("bare agent (C)", "floor", program, variables={"BARE_AGENT_PORT": str(port)})


def muster_rsh(bench, hosts, secret):
    """Agents of a job of `hosts` nodes that does nothing else."""
    folder = bench.scratch / f"agents-{hosts}-{secret}"
    folder.mkdir()
    told, worker = folder / "environment", folder / "worker"
    worker.write_text(WORKER % (told, told, told))
    worker.chmod(0o755)
    variables = {}
    if secret:
        (folder / "secret").write_text("correct horse battery staple")
        (folder / "secret").chmod(0o600)
        variables["MUSTER_JOB_SECRET_FILE"] = str(folder / "secret")
    bench.start((bench.muster, "local", "--nodes", hosts, "--rsh", "--no-python", worker), env=variables)
    wait_for(told, "the agents' job")
    environment = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
    variables["MUSTER_RSH_AGENT"] = environment["MUSTER_RSH_AGENT"]
    return Shell("muster rsh" + ("" if secret else ", no secret"), "muster" if secret else "variant",
                 str(bench.muster.parent / "muster-rsh"), variables=variables)


def start_sshd(bench):
    """The folder with the clients' configurations: "once" and "kept"."""
    folder = bench.scratch / "ssh"
    folder.mkdir()
    facts = {"port": free_port(), "folder": folder}
    for name in ("host", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "sshd").write_text(SSHD % facts)
    (folder / "known_hosts").write_text("* " + " ".join((folder / "host.pub").read_text().split()[:2]) + "\n")
    (folder / "once").write_text(CLIENT % facts)
    (folder / "kept").write_text(CLIENT % facts + KEPT % facts)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd of root insists on it
    bench.start((shutil.which("sshd", path="/usr/sbin:/usr/local/sbin"), "-D", "-e", "-f", folder / "sshd"))
    deadline = time.monotonic() + READY_S
    login = ["timeout", "5", "ssh", "-n", "-F", str(folder / "once"), "node-1", "true"]
    while subprocess.run(login, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        if time.monotonic() > deadline:
            raise CouldNotRun(f"no login into our sshd: {bench.last_words()}")
        time.sleep(0.1)
    return folder


def ssh(folder):
    yield Shell("ssh", "peer", shutil.which("ssh"), ("-F", str(folder / "once")))
    # Its first call to a host logs in; what is measured comes after that.
    yield Shell("ssh, connections kept", "peer", shutil.which("ssh"), ("-F", str(folder / "kept")))


def has_ssh():
    return shutil.which("ssh") and shutil.which("ssh-keygen") and shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
