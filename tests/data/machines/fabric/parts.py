"""Parts that several of the machines have, and the list into which each machine puts its description.

cloud_machines.py and cluster_machines.py describe the machines; kernel_view.py knows what the kernel makes of a part.
"""

A100 = ("NVIDIA A100-SXM4-80GB", "10de:20b2")
H100 = ("NVIDIA H100 80GB HBM3", "10de:2330")
H200 = ("NVIDIA H200", "10de:2335")
B200 = ("NVIDIA B200", "10de:2901")
GB200 = ("NVIDIA GB200", "10de:2941")
L40S = ("NVIDIA L40S", "10de:26b9")
CX6_VF, CX6DX, CX7, MLX_VF, BF3 = "15b3:101c", "15b3:101d", "15b3:1021", "15b3:101e", "15b3:a2dc"
GVNIC, ENA = "1ae0:0042", "1d0f:ec20"
# Root port, upstream port and internal bus of the PCI switch of each GPU of an HGX H100, and what hangs there: GPU, HCA.
HGX = (("15:01.0/16:00.0/17", "1b", "18"), ("37:01.0/38:00.0/39", "43", "40"), ("48:01.0/49:00.0/4a", "52", "4f"),
       ("59:01.0/5a:00.0/5b", "61", "5e"), ("97:01.0/98:00.0/99", "9d", "9a"), ("b7:01.0/b8:00.0/b9", "c3", "c0"),
       ("c7:01.0/c8:00.0/c9", "d1", "ce"), ("d7:01.0/d8:00.0/d9", "df", "dc"))
MACHINES = {}


def machine(name):
    def register(describe):
        MACHINES[name] = describe
        return describe
    return register


def in_pod(m, ip, gateway, mtu=1500, **environ):
    """A pod of Kubernetes with the usual eth0."""
    m.pod = True
    m.hostname = m.name.replace("-pod", "") + "-0"
    m.environ |= {"HOSTNAME": m.hostname, "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"} | environ
    m.veth("eth0", ip, gateway, mtu)


def hgx_gpus(m, model, ids, granted=range(8)):
    for index, (switch, gpu, _) in enumerate(HGX):
        m.gpu(f"{gpu}:00.0", model, ids, f"{switch}:02.0", index // 4, granted=index in granted)


def hgx_nic(m, index, ids, kind):
    switch, _, nic = HGX[index]
    return m.pci(f"{nic}:00.0", ids, kind, f"{switch}:00.0", index // 4)


def bare_host(m, name):
    m.hostname = name
    m.environ |= {"HOME": "/root", "USER": "root"}
    m.file("/proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro iommu=pt")
