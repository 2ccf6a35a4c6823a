#!/usr/bin/env python3
"""Makes the .tree files beside it: the machines of the fabric planner's tests, each described in one function.

    make_trees.py [NAME...]

Without names all of them. The first lines of a tree are the words of its function: what the machine is, and where the
description comes from. [D] the cloud's or vendor's documentation or published scripts, [S] source of a library or the kernel,
[R] a report from such a machine, [G] our guess. Nothing here was recorded. Standard library only.
"""

import inspect
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from kernel_view import Machine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
A100 = ("NVIDIA A100-SXM4-80GB", "10de:20b2")
H100 = ("NVIDIA H100 80GB HBM3", "10de:2330")
H200 = ("NVIDIA H200", "10de:2335")
B200 = ("NVIDIA B200", "10de:2901")
GB200 = ("NVIDIA GB200", "10de:2941")
L40S = ("NVIDIA L40S", "10de:26b9")
CX6, CX6_VF, CX6DX, CX7, MLX_VF, BF3 = "15b3:101b", "15b3:101c", "15b3:101d", "15b3:1021", "15b3:101e", "15b3:a2dc"
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


def make(name):
    describe = MACHINES[name]
    made = Machine(name, inspect.getdoc(describe).split("\n"))
    describe(made)
    made.finish()
    return made.text()


# --- parts that several machines share ---------------------------------------------------------

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


# --- InfiniBand on bare metal ------------------------------------------------------------------

@machine("dgx-h100-host")
def dgx_h100_host(m):
    """DGX H100 without a container: 8 GPUs, each behind a PCI switch with its InfiniBand HCA, and two dual-port cards for
    storage (port 1, InfiniBand) and the in-band network (port 2, Ethernet, both in bond0). bond0 has the default route.

    [D] which mlx5_N is which port, and the names of the network interfaces (DGX H100 User Guide, "Network Modules"); NUMA nodes.
    [R] the bus numbers of the GPUs. [G] the bridges between, all addresses, GUIDs and LIDs, the storage ports at 400 Gb/s.
    """
    bare_host(m, "dgx-11")
    m.dmi(sys_vendor="NVIDIA", product_name="DGXH100", board_vendor="NVIDIA", chassis_asset_tag="Unknown")
    m.nvidia_driver()
    hgx_gpus(m, *H100)
    m.net("bond0", "10.33.0.11/24", gateway="10.33.0.1", mtu=9000, speed=200000, kind="bond", flags="0x1403", mac=m.mac(0x2901))
    bonded = []
    storage = {1: ("29", "26:01.0", 0), 8: ("aa", "a7:01.0", 1)}
    compute = dict(zip((0, 3, 4, 5, 6, 9, 10, 11), range(8)))
    for number in range(12):
        if number in compute:
            rail = compute[number]
            device = hgx_nic(m, rail, CX7, "ib")
            m.ipoib(f"ibp{int(HGX[rail][2], 16)}s0", device, m.guid(0x100 + rail), mtu=4092)
            m.hca(f"mlx5_{number}", device, "IB", 400, seed=0x100 + rail)
        else:
            bus, chain, numa = storage[1 if number < 7 else 8]
            port, ethernet = (0, False) if number in (1, 7) else (1, True)
            seed = 0x2900 if numa == 0 else 0xaa00
            device = m.pci(f"{bus}:00.{port}", CX7, "ethernet" if ethernet else "ib", chain, numa)
            name = f"{'en' if ethernet else 'ib'}p{int(bus, 16)}s0f{port}" + ("np1" if ethernet else "")
            if ethernet:
                bonded.append(m.net(name, "", device, mtu=9000, speed=100000, mac=m.mac(0x2901), master="bond0"))
            else:
                m.ipoib(name, device, m.guid(seed), f"10.44.{numa}.11/24")
            m.hca(f"mlx5_{number}", device, "RoCE" if ethernet else "IB", 100 if ethernet else 400, seed=seed + port, card=seed,
                  gids=m.roce_gids("bond0") if ethernet else None)
    m.files("/sys/devices/virtual/net/bond0/bonding", {"slaves": " ".join(bonded), "mode": "802.3ad 4", "mii_status": "up"})


@machine("dgx-b200-host")
def dgx_b200_host(m):
    """DGX B200 without a container: 8 GPUs, 8 ConnectX-7 for compute, and two BlueField-3 with two ports each: storage (InfiniBand)
    and in-band (Ethernet).

    [D] 8 ConnectX-7 and two dual-port BlueField-3 (0xa2dc). [G] bus numbers (those of the DGX H100), which mlx5_N is which,
    all names and addresses.
    """
    bare_host(m, "dgx-b200-3")
    m.dmi(sys_vendor="NVIDIA", product_name="DGXB200", board_vendor="NVIDIA", chassis_asset_tag="Unknown")
    m.nvidia_driver("570.133.20")
    hgx_gpus(m, *B200)
    cards = {0: ("29", "26:01.0", 0), 6: ("aa", "a7:01.0", 1)}
    compute = dict(zip((2, 3, 4, 5, 8, 9, 10, 11), range(8)))
    for number in range(12):
        if number in compute:
            device = hgx_nic(m, compute[number], CX7, "ib")
            m.ipoib(f"ibp{int(HGX[compute[number]][2], 16)}s0", device, m.guid(0x100 + number), mtu=4092)
            m.hca(f"mlx5_{number}", device, "IB", 400, seed=0x100 + number)
        else:
            port, first = number % 2, number - number % 2
            bus, chain, numa = cards[first]
            device = m.pci(f"{bus}:00.{port}", BF3, "ethernet" if port else "ib", chain, numa)
            if port:
                name = m.net(f"enp{int(bus, 16)}s0f1np1", f"10.3{numa + 3}.0.13/24", device, "10.33.0.1" if numa == 0 else "", mtu=9000,
                             speed=200000, mac=m.mac(first << 8 | port))
                m.hca(f"mlx5_{number}", device, "RoCE", 200, seed=first << 8 | port, card=first << 8, netdev=name)
            else:
                m.ipoib(f"ibp{int(bus, 16)}s0f0", device, m.guid(first << 8), f"10.44.{numa}.13/24")
                m.hca(f"mlx5_{number}", device, "IB", 400, seed=first << 8)


@machine("oci-h100-host")
def oci_h100_host(m):
    """OCI BM.GPU.H100.8 on the host network: 8 dual-port ConnectX-7 (16 ports of 200 Gb/s RoCE, two for each GPU), and mlx5_2 and
    mlx5_11 for management. eth0 belongs to mlx5_2.

    [D] the two lists of mlx5_N, the common GID index 3, rdma0 to rdma15 (oracle-quickstart/oci-hpc). [R] bus numbers of NUMA
    node 0. [G] bus numbers of node 1, bridges below the switch 1000:c030, addresses, mlx5_11's second interface without address.
    """
    bare_host(m, "inst-7f3kq-gpu")
    oracle(m)
    m.nvidia_driver()
    oci_h100_gpus(m)
    rail = 0
    for number in range(18):
        if number in (2, 11):
            numa = number // 9
            device = m.pci(("1f:00.0", "9a:00.0")[numa], CX6DX, "ethernet", ("1c:01.0", "97:01.0")[numa], numa, speed="16.0 GT/s PCIe")
            name = m.net(f"eth{numa}", "10.0.8.21/20" if numa == 0 else "", device, "10.0.0.1" if numa == 0 else "", mtu=9000, speed=100000)
            m.hca(f"mlx5_{number}", device, "RoCE", 100, seed=0x900 + number, netdev=name)
            continue
        device = oci_h100_port(m, rail)
        name = m.net(f"rdma{rail}", f"10.224.{rail}.21/12", device, mtu=4220, speed=200000, mac=m.mac(0x100 + rail))
        m.hca(f"mlx5_{number}", device, "RoCE", 200, seed=0x100 + rail, card=0x100 + rail // 2 * 2, netdev=name)
        rail += 1


OCI_H100 = (("0f", "0c", "07:01.0/08:00.0/09"), ("2d", "2a", "25:01.0/26:00.0/27"), ("44", "41", "3c:01.0/3d:00.0/3e"),
            ("5b", "58", "53:01.0/54:00.0/55"), ("89", "86", "81:01.0/82:00.0/83"), ("a8", "a5", "a0:01.0/a1:00.0/a2"),
            ("c0", "bd", "b8:01.0/b9:00.0/ba"), ("d8", "d5", "d0:01.0/d1:00.0/d2"))


def oracle(m):
    m.dmi(sys_vendor="Oracle Corporation", product_name="ORACLE SERVER X9-2c", chassis_asset_tag="OracleCloud.com")


def oci_h100_gpus(m):
    for index, (gpu, _, switch) in enumerate(OCI_H100):
        m.gpu(f"{gpu}:00.0", *H100, f"{switch}:02.0", index // 4)


def oci_h100_port(m, rail):
    _, nic, switch = OCI_H100[rail // 2]
    return m.pci(f"{nic}:00.{rail % 2}", CX7, "ethernet", f"{switch}:00.0", rail // 8)


# --- Azure: one PCI domain for each device -----------------------------------------------------

def azure(m, hcas, ethernet, gbit, vf, gpus, nics, numa_of):
    """`gpus`, `nics`: PCI domains; `hcas`: names of the InfiniBand devices; `ethernet`: that of accelerated networking."""
    bare_host(m, m.name + "-vm1")
    vmbus = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00"
    m.dmi(sys_vendor="Microsoft Corporation", product_name="Virtual Machine", board_vendor="Microsoft Corporation",
          chassis_asset_tag="7783-7084-3265-9085-8269-3286-77")
    m.nvidia_driver()
    netvsc = f"{vmbus}/000d3a12-3456-000d-3a12-3456000d3a12"
    m.files(netvsc, {"vendor": "0x1414", "device": "0x3"})
    m.link(f"{netvsc}/driver", "/sys/bus/vmbus/drivers/hv_netvsc")
    m.folder("/sys/bus/vmbus/drivers/hv_netvsc")
    m.net("eth0", "10.4.0.7/24", netvsc, "10.4.0.1", speed=100000, mac="00:0d:3a:12:34:56", metric=100)
    for index, domain in enumerate(gpus):
        m.root_complex = f"{vmbus}/47505500-000{index}-0001-3130-444531343630"
        m.gpu(f"{domain}:00:00.0", *(A100 if gbit == 200 else H100), "", numa_of(index))
    for index, domain in enumerate(nics):
        m.root_complex = f"{vmbus}/00000000-000{index}-0101-3130-444531344130"
        device = m.pci(f"{domain}:00:00.0", vf, "ib", "", numa_of(index))
        m.ipoib(f"ib{index}", device, m.guid(0x200 + index), f"172.16.{index + 1}.7/16")
        m.hca(hcas[index], device, "IB", gbit, seed=0x200 + index, pkeys=("0x8023", "0x7fff"))
    m.root_complex = f"{vmbus}/99999999-0000-0000-3130-444531344130"
    device = m.pci("a2e3:00:02.0", CX6_VF, "ethernet", "", 0)
    name = m.net("enP41699s1", "", device, speed=100000, mac="00:0d:3a:12:34:56", master="eth0")
    m.hca(ethernet, device, "RoCE", 100, seed=0x300, netdev=name)


@machine("azure-ndv5-host")
def azure_ndv5_host(m):
    """Azure ND H100 v5, a virtual machine: each GPU and each InfiniBand VF in a PCI domain of its own without bridges, so PCI paths
    say nothing about distance; mlx5_8 is the accelerated Ethernet below eth0; ib0 to ib7 are IPoIB. The topology file is there.

    [D] domains, NUMA nodes and PCI classes (the bus ids of ndv5-topo.xml), place of the file and of the link to it
    (Azure/azhpc-images), asset tag. The XML is written anew from those bus ids. The image's /etc/nccl.conf is left out on
    purpose: the plan must stand without it. [R] paths below VMBUS, the partition key at index 0. [G] addresses, GUIDs, GUIDs of the bus.
    """
    m.nodes = ["0-47", "48-95"]
    gpus = ("0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c")
    nics = tuple(f"010{number}" for number in range(1, 9))
    azure(m, [f"mlx5_{number}" for number in range(8)], "mlx5_8", 400, MLX_VF, gpus, nics, lambda index: index // 4)
    lines = ['<system version="1">']
    for node in range(2):
        lines.append(f'  <cpu numaid="{node}" affinity="{("00000000,0000ffff,ffffffff", "ffffffff,ffff0000,00000000")[node]}" arch="x86_64" '
                     'vendor="GenuineIntel" familyid="6" modelid="143">')
        for index in range(4 * node, 4 * node + 4):
            lines.append(f'    <pci busid="ffff:ff:{index + 1:02x}.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">')
            for domain, pci_class in ((gpus[index], "0x030200"), (nics[index], "0x020700")):
                lines.append(f'      <pci busid="{domain}:00:00.0" class="{pci_class}" link_speed="32.0 GT/s PCIe" link_width="16"/>')
            lines.append("    </pci>")
        lines.append("  </cpu>")
    m.file("/opt/microsoft/ndv5-topo.xml", "\n".join(lines + ["</system>"]))
    m.link("/opt/microsoft/ndv5/topo.xml", "/opt/microsoft/ndv5-topo.xml")


@machine("azure-ndv4-host")
def azure_ndv4_host(m):
    """Azure ND A100 v4, a virtual machine with four NUMA nodes: as ND v5, but HDR, with the names that Azure's udev rule gives
    (mlx5_ib0 to mlx5_ib7, mlx5_an0), and without a topology file.

    [D] domains and NUMA nodes (Azure/azhpc-images), names, asset tag. [R] paths below VMBUS. [G] addresses, GUIDs.
    """
    m.nodes = ["0-23", "24-47", "48-71", "72-95"]
    m.cpu("AuthenticAMD", 23, 49, "AMD EPYC 7V12 64-Core Processor")
    gpus = ("0001", "0002", "0003", "0004", "000b", "000c", "000d", "000e")
    nics = tuple(f"010{number}" for number in range(1, 9))
    azure(m, [f"mlx5_ib{number}" for number in range(8)], "mlx5_an0", 200, CX6_VF, gpus, nics, lambda index: (1, 0, 3, 2)[index // 2])


# --- AWS ---------------------------------------------------------------------------------------

def amazon(m, product, provider_gbit, lanes, buses, efa_id):
    """`buses`: (bus of the EFA device, chain, NUMA node, slot)."""
    m.dmi(sys_vendor="Amazon EC2", product_name=product, board_vendor="Amazon EC2", board_asset_tag="i-0123456789abcdef0",
          chassis_asset_tag="Amazon EC2", bios_vendor="Amazon EC2")
    for index, (bus, chain, numa, slot) in enumerate(buses):
        device = m.pci(f"{bus:02x}:{slot:02x}.0", efa_id, "ethernet", chain, numa, "efa")
        m.hca(f"rdmap{bus}s{slot}", device, "EFA", provider_gbit, seed=0x400 + index, lanes=lanes)
    m.file("/opt/amazon/efa/lib/libfabric.so.1")
    m.file("/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so")
    m.link("/opt/amazon/ofi-nccl/lib/libnccl-net.so", "/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so")
    m.environ["LD_LIBRARY_PATH"] = "/opt/amazon/efa/lib:/opt/amazon/ofi-nccl/lib"


def amazon_pod(m):
    in_pod(m, "10.1.37.92/32", "169.254.1.1", 9001)


@machine("aws-p5-pod")
def aws_p5_pod(m):
    """AWS p5.48xlarge, a pod of EKS with the VPC CNI: 8 H100, 32 EFA devices of 100 Gb/s, four for each GPU; eth0 is a veth with a /32.

    [D] names of the EFA devices of six GPUs, their number, rate and link layer, hugepages of the example, product name, places of
    the plugin. [R] bus numbers of the GPUs. [G] the bridges (1d0f:0200) and the PCI id efa1, names of the other eight, addresses.
    """
    amazon_pod(m)
    m.hugepages_gib = 42
    m.bridges = ("1d0f:0200", "1d0f:0200")
    m.nodes = ["0-47,96-143", "48-95,144-191"]
    m.cpu("AuthenticAMD", 25, 1, "AMD EPYC 7R13 Processor")
    m.nvidia_driver()
    buses = []
    for index, gpu in enumerate((0x53, 0x64, 0x75, 0x86, 0x97, 0xa8, 0xb9, 0xca)):
        up = f"{gpu - 7:02x}:01.0/{gpu - 6:02x}:00.0/{gpu - 5:02x}"
        m.gpu(f"{gpu:02x}:00.0", *H100, f"{up}:04.0", index // 4)
        buses += [(gpu - 4 + port, f"{up}:0{port}.0", index // 4, 0) for port in range(4)]
    amazon(m, "p5.48xlarge", 100, "4X EDR", buses, "1d0f:efa1")


# --- RoCE in pods ------------------------------------------------------------------------------

@machine("roce-macvlan-pod")
def roce_macvlan_pod(m):
    """HGX H100, a pod with rdmaSharedDevicePlugin and one macvlan for each rail: all 8 physical functions are seen and granted. The
    GIDs of the hosts' interfaces cannot be used here (0 to 3: EINVAL); the pod's own are at 4 to 7, and 7 is RoCE v2 with IPv4.

    [D] the picture (Mellanox/network-operator), [S] which reads fail (drivers/infiniband/core/sysfs.c), [R] indices 4 to 7
    (NVIDIA/nccl#1538). [G] addresses, bridges, NUMA.
    """
    in_pod(m, "10.244.3.17/24", "10.244.3.1", 1450)
    hgx_roce_pod(m)
    for rail in range(8):
        device = hgx_nic(m, rail, CX7, "ethernet")
        m.folder(f"{device}/net")
        name = m.net(f"net{rail + 1}", f"10.156.{rail}.132/24", "", mtu=9000, speed=400000, kind="macvlan", link=20 + rail,
                     mac=m.mac(0x5000 + rail))
        foreign = [("0000:" * 7 + "0000", None, None)] * 4
        m.hca(f"mlx5_{rail}", device, "RoCE", 400, seed=0x500 + rail, gids=foreign + m.roce_gids(name), slots=16)


def hgx_roce_pod(m):
    m.dmi(sys_vendor="Supermicro", product_name="SYS-821GE-TNHR", board_vendor="Supermicro", chassis_asset_tag="Default string")
    m.nvidia_driver()
    hgx_gpus(m, *H100)


# --- plain Ethernet ----------------------------------------------------------------------------

@machine("plain-ethernet-hostnet")
def plain_ethernet_hostnet(m):
    """A node with two GPUs and 25 Gb/s Ethernet, a pod with hostNetwork: everything that bridges, CNI plugins and VPNs leave on a node
    is seen beside eth0.

    [S] names and kinds of the interfaces (flannel, calico, docker, tailscale). [G] everything else.
    """
    m.pod = True
    m.nodes = ["0-31"]
    m.memory_gib = 256
    m.hostname = "gpu-node-4"
    m.environ |= {"HOSTNAME": m.hostname, "KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    m.dmi(sys_vendor="Dell Inc.", product_name="PowerEdge R750", board_vendor="Dell Inc.", chassis_asset_tag="")
    m.nvidia_driver()
    for bus in ("31", "ca"):
        m.gpu(f"{bus}:00.0", "NVIDIA A10", "10de:2236", f"{int(bus, 16) - 1:02x}:02.0", 0, "16.0 GT/s PCIe")
    device = m.pci("04:00.0", "14e4:1750", "ethernet", "03:01.0", 0, "bnxt_en", "16.0 GT/s PCIe", 8)
    m.net("eth0", "192.168.10.24/24", device, "192.168.10.1", mtu=9000, speed=25000, metric=100)
    m.net("docker0", "172.17.0.1/16", kind="bridge", up=False, mac="02:42:5b:10:20:30")
    m.net("cni0", "10.244.4.1/24", kind="bridge", speed=10000, mtu=1450)
    m.net("flannel.1", "10.244.4.0/32", kind="vxlan", mtu=1450)
    m.veth("veth5d1e2a90", mtu=1450, master="cni0")
    m.veth("veth0c77ab12", mtu=1450, master="cni0")
    m.veth("cali8f2ac51e0b4")
    m.veth("cali19de03b7f55")
    m.net("tailscale0", "100.101.12.9/32", link_type=65534, flags="0x1091", mtu=1280, has_ipv6=False, mac="00:00:00:00:00:00")


def main(names):
    for name in names or sorted(MACHINES):
        (HERE / f"{name}.tree").write_text(make(name))


if __name__ == "__main__":
    main(sys.argv[1:])
