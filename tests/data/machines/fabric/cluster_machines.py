"""Machines of somebody's own: DGX and HGX, RoCE in pods, plain Ethernet, AMD, GB200. The clouds: cloud_machines.py.

[D] the vendor's documentation or published scripts, [S] source of a library or the kernel, [R] reported from
such machines or generally known, and not checked by us, [G] our guess. Nothing here was recorded.
"""

from kernel_view import gid_of_ipv4, interface_id
from parts import (A100, B200, BF3, CX6DX, CX7, GB200, H100, HGX, L40S, MLX_VF, bare_host, hgx_gpus, hgx_nic, in_pod, machine)


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
    m.file("/sys/class/net/bonding_masters", "bond0")
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
            port = number % 2
            bus, chain, numa = cards[number - port]
            seed = int(bus, 16) << 8 | port
            device = m.pci(f"{bus}:00.{port}", BF3, "ethernet" if port else "ib", chain, numa)
            if port:
                name = m.net(f"enp{int(bus, 16)}s0f1np1", f"10.3{numa + 3}.0.13/24", device, "10.33.0.1" if numa == 0 else "", mtu=9000,
                             speed=200000, mac=m.mac(seed))
                m.hca(f"mlx5_{number}", device, "RoCE", 200, seed=seed, card=seed - 1, netdev=name)
            else:
                m.ipoib(f"ibp{int(bus, 16)}s0f0", device, m.guid(seed), f"10.44.{numa}.13/24")
                m.hca(f"mlx5_{number}", device, "IB", 400, seed=seed)


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


@machine("roce-sriov-pod")
def roce_sriov_pod(m):
    """HGX H100, a pod with SR-IOV VFs and rdma-cni (exclusive mode): 8 VFs as net1 to net8, no other RDMA device is seen. The names of the
    devices are whatever numbers the host had left.

    [D] the picture, PCI id of a VF, GID 3 (Mellanox/network-operator). [G] names, bus numbers (the DGX's), addresses.
    """
    in_pod(m, "10.244.5.31/24", "10.244.5.1", 1450)
    hgx_roce_pod(m)
    m.verbs = 9
    for rail, number in enumerate((11, 14, 12, 17, 20, 16, 23, 19)):
        switch, _, nic = HGX[rail]
        m.folder(hgx_nic(m, rail, CX7, "ethernet") + "/net")
        device = m.pci(f"{nic}:00.4", MLX_VF, "ethernet", f"{switch}:00.0", rail // 4, vf_of=f"{nic}:00.0")
        name = m.net(f"net{rail + 1}", f"192.168.{rail + 1}.31/24", device, mtu=9000, speed=400000, mac=m.mac(0x5100 + rail))
        m.hca(f"mlx5_{number}", device, "RoCE", 400, seed=0x5100 + rail, card=0x510 + rail, netdev=name, slots=8)


@machine("roce-no-network-pod")
def roce_no_network_pod(m):
    """HGX H100, a pod that has the devices (rdma/hca: 1) and no secondary network: all 8 are ACTIVE and granted, their GIDs belong to
    interfaces of the host, so that no type can be read. RDMA cannot work here: this is the machine's fault to find.

    [D] the picture (network-operator), [R] NVIDIA/nccl#1796, [S] that gids still shows the value. [G] addresses, bus numbers.
    """
    in_pod(m, "10.244.6.8/24", "10.244.6.1", 1450)
    hgx_roce_pod(m)
    for rail in range(8):
        device = hgx_nic(m, rail, CX7, "ethernet")
        m.folder(f"{device}/net")
        values = ["fe80:0000:0000:0000:" + interface_id(m.mac(0x520 + rail)), gid_of_ipv4(f"10.156.{rail}.4/24")]
        m.hca(f"mlx5_{rail}", device, "RoCE", 400, seed=0x520 + rail, gids=[(value, None, None) for value in values for _ in range(2)], slots=16)


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


@machine("plain-ethernet-pod")
def plain_ethernet_pod(m):
    """HGX A100, a pod without RDMA: eth0 is a veth, /sys/class/infiniband is not there. The node's 100 Gb/s ConnectX-6 Dx is seen among
    the PCI devices only.

    [S] what a veth shows. [G] everything else.
    """
    in_pod(m, "10.42.1.77/24", "10.42.1.1", 1450)
    m.dmi(sys_vendor="Supermicro", product_name="AS -4124GO-NART+", board_vendor="Supermicro", chassis_asset_tag="")
    m.nodes = ["0-63,128-191", "64-127,192-255"]
    m.cpu("AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor")
    m.nvidia_driver("535.183.01", opened=False)
    hgx_gpus(m, *A100)
    m.folder(m.pci("2a:00.0", CX6DX, "ethernet", "28:01.0", 0, speed="16.0 GT/s PCIe") + "/net")


@machine("nvlink-single")
def nvlink_single(m):
    """HGX H100 for jobs of one node: a pod with 8 GPUs, lo and eth0; no RDMA device, no other network. Four NVSwitches are seen among the
    PCI devices.

    [R] PCI ids of GPU and NVSwitch, bus numbers. [G] everything else.
    """
    in_pod(m, "10.244.1.5/24", "10.244.1.1")
    m.dmi(sys_vendor="HPE", product_name="Cray XD670", board_vendor="HPE", chassis_asset_tag="")
    m.nvidia_driver()
    hgx_gpus(m, *H100)
    for number in range(4):
        m.pci(f"{5 + number:02x}:00.0", "10de:22a3", "nvswitch", f"01:01.0/02:00.0/03:0{number}.0", 0, "nvidia-nvswitch", "16.0 GT/s PCIe", 2)
    m.folder(m.pci("f1:00.0", "8086:1563", "ethernet", "f0:01.0", 1, "ixgbe", "8.0 GT/s PCIe", 4) + "/net")


@machine("pcie-l40s")
def pcie_l40s(m):
    """8 L40S behind four PCI switches, no NVLink, no container. One 100 Gb/s ConnectX-6 Dx, which is the node's own network: mlx5_0 is the
    only RDMA device, and its interface has the default route.

    [R] PCI id of the L40S. [G] everything else.
    """
    bare_host(m, "l40s-02")
    m.dmi(sys_vendor="Supermicro", product_name="SYS-421GE-TNRT", board_vendor="Supermicro", chassis_asset_tag="")
    m.nodes = ["0-31,64-95", "32-63,96-127"]
    m.memory_gib = 1024
    m.nvidia_driver()
    for index, bus in enumerate((0x16, 0x38, 0x4a, 0x5b)):
        for gpu in range(2):
            m.gpu(f"{bus + 3 + gpu:02x}:00.0", *L40S, f"{bus:02x}:01.0/{bus + 1:02x}:00.0/{bus + 2:02x}:0{gpu}.0", index // 2, "16.0 GT/s PCIe")
    device = m.pci("98:00.0", CX6DX, "ethernet", "97:01.0", 1, speed="16.0 GT/s PCIe")
    name = m.net("ens5f0np0", "10.20.0.42/24", device, "10.20.0.1", mtu=9000, speed=100000, mac=m.mac(0x5300))
    m.hca("mlx5_0", device, "RoCE", 100, seed=0x5300, netdev=name)


@machine("cpu-only-pod")
def cpu_only_pod(m):
    """A pod without accelerator on a cloud's virtual machine: eth0 alone. [G] everything."""
    in_pod(m, "10.1.2.3/24", "10.1.2.1")
    m.nodes = ["0-15"]
    m.memory_gib = 64
    m.dmi(sys_vendor="QEMU", product_name="Standard PC (Q35 + ICH9, 2009)", board_vendor="", chassis_asset_tag="")


@machine("laptop-wifi")
def laptop_wifi(m):
    """A laptop without accelerator: wlan0 has the default route, docker0 has nobody, and /etc/hosts has the own name at 127.0.1.1, as
    Debian's installer writes it.

    [D] the line of 127.0.1.1 (Debian Reference). [G] everything else.
    """
    m.nodes = ["0-7"]
    m.memory_gib = 16
    m.hostname = "laptop"
    m.environ |= {"HOME": "/home/ada", "USER": "ada"}
    m.dmi(sys_vendor="LENOVO", product_name="21CBCTO1WW", board_vendor="LENOVO", chassis_asset_tag="No Asset Information")
    m.cpu("GenuineIntel", 6, 140, "11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz")
    device = m.pci("00:14.3", "8086:a0f0", "ethernet", "", 0, "iwlwifi")
    m.net("wlan0", "192.168.1.57/24", device, "192.168.1.1", kind="wlan", metric=600)
    m.net("docker0", "172.17.0.1/16", kind="bridge", up=False, mac="02:42:5b:10:20:30")
    m.file("/etc/hosts", "127.0.0.1\tlocalhost\n127.0.1.1\tlaptop.lan laptop\n\n::1\tlocalhost ip6-localhost ip6-loopback")


# --- other fabrics -----------------------------------------------------------------------------

def nvl72_tray(m, channel):
    bare_host(m, "nvl72-tray-07")
    m.dmi(sys_vendor="NVIDIA", product_name="GB200 NVL", board_vendor="NVIDIA", chassis_asset_tag="")
    m.arm_cpu()
    m.file("/proc/sys/kernel/osrelease", "6.8.0-1021-nvidia-64k")
    m.nodes = ["0-71", "72-143"]
    m.memory_gib = 960
    m.bridges = ("10de:22b1", "15b3:1979")
    m.nvidia_driver("570.133.20", arch="aarch64")
    for index, domain in enumerate(("0008", "0009", "0018", "0019")):
        m.gpu(f"{domain}:01:00.0", *GB200, f"{domain}:00:00.0", index // 2)
    nics = {0: ("0000", 0), 1: ("0002", 0), 2: ("0006", 0), 3: ("0006", 1), 4: ("0010", 0), 5: ("0012", 0), 6: ("0016", 0), 7: ("0016", 1)}
    for number, (domain, port) in nics.items():
        chain, numa = f"{domain}:00:00.0/{domain}:01:00.0/{domain}:02:00.0", number // 4
        is_dpu, seed = domain in ("0006", "0016"), 0x900 + (number - port)
        device = m.pci(f"{domain}:03:00.{port}", BF3 if is_dpu else CX7, "ethernet" if is_dpu else "ib", chain, numa)
        if is_dpu:
            has_route = number == 2
            name = m.net(f"enP{int(domain, 16)}p3s0f{port}np{port}", f"10.50.{number}.7/24", device, "10.50.2.1" if has_route else "", mtu=9000,
                         speed=200000, mac=m.mac(seed + port))
            m.hca(f"mlx5_{number}", device, "RoCE", 200, seed=seed + port, card=seed, netdev=name)
        else:
            m.ipoib(("ib" if number == 0 else f"ibP{int(domain, 16)}") + "p3s0", device, m.guid(seed), mtu=4092)
            m.hca(f"mlx5_{number}", device, "IB", 400, seed=seed)
    if channel:
        m.file("/dev/nvidia-caps-imex-channels/channel0")


@machine("gb200-nvl72")
def gb200_nvl72(m):
    """One compute tray of a GB200 NVL72, aarch64, no container: 4 GPUs, ConnectX-7 as mlx5_0, 1, 4 and 5 (InfiniBand), two BlueField-3 as
    mlx5_2, 3, 6 and 7 (Ethernet, the first with the default route), and IMEX channel 0.

    [D] which mlx5_N is at which PCI address (NVIDIA's north-south network guide), the place of the channel. [R] PCI addresses of the GPUs.
    [G] bridges, names of the interfaces, addresses; the nodes of the GPUs' own memory are left out.
    """
    nvl72_tray(m, channel=True)


@machine("gb200-no-imex")
def gb200_no_imex(m):
    """The tray of gb200-nvl72 without an IMEX channel: NVLink to other trays cannot be used. This is the machine's fault to find.

    [D] [R] [G] as gb200-nvl72.
    """
    nvl72_tray(m, channel=False)


MI300X_BUSES = ("05", "26", "46", "65", "85", "a6", "c6", "e5")


def amd_host(m, hostname, ids, kernel="5.15.0-116-generic"):
    """8 AMD GPUs, each behind a switch of its own. Returns the chain of bridges to the NIC beside each."""
    bare_host(m, hostname)
    m.nodes = ["0-95,192-287", "96-191,288-383"]
    m.cpu("AuthenticAMD", 25, 17, "AMD EPYC 9654 96-Core Processor")
    m.bridges = ("1022:14ab", "1000:c030")
    m.file("/proc/sys/kernel/osrelease", kernel)
    ups = [f"{int(bus, 16) - 4:02x}:01.1/{int(bus, 16) - 3:02x}:00.0/{int(bus, 16) - 2:02x}" for bus in MI300X_BUSES]
    m.amd_gpus([f"{bus}:00.0" for bus in MI300X_BUSES], ids, [f"{up}:01.0" for up in ups], [index // 4 for index in range(8)])
    m.file("/sys/kernel/mm/memory_peers/amdkfd/version", "1.0")
    return [f"{up}:00.0" for up in ups]


def nic_beside(rail):
    return f"{int(MI300X_BUSES[rail], 16) - 1:02x}:00.0"


@machine("mi300x-thor2")
def mi300x_thor2(m):
    """8 MI300X with 8 Broadcom Thor2 (bnxt_re0 to bnxt_re7, 400 Gb/s RoCE), no container. eno1, an Intel port, has the default route.

    [D] names, rate, PCI id of the GPU. [R] bus numbers of the GPUs. [G] PCI id 0x1760 of the NIC, bridges, interfaces, addresses.
    """
    chains = amd_host(m, "mi300x-1", "1002:74a1")
    m.dmi(sys_vendor="Supermicro", product_name="AS -8125GS-TNMR2", board_vendor="Supermicro", chassis_asset_tag="")
    m.net("eno1", "10.60.0.5/24", m.pci("e9:00.0", "8086:1563", "ethernet", "e8:01.1", 1, "ixgbe", "8.0 GT/s PCIe", 4), "10.60.0.1", speed=10000)
    for rail in range(8):
        device = m.pci(nic_beside(rail), "14e4:1760", "ethernet", chains[rail], rail // 4)
        name = m.net(f"benic{rail}p1", f"10.61.{rail}.5/24", device, mtu=9000, speed=400000, mac=m.mac(0xa00 + rail))
        m.hca(f"bnxt_re{rail}", device, "RoCE", 400, seed=0xa00 + rail, netdev=name)


def ten_nics(m, prefix, ids, chains, front, gids):
    """Devices 0, 2, 3, 4, 5, 7, 8 and 9 are the rails; 1 and 6 are the node's own network. `front`: interface with the default route."""
    rails = iter(range(8))
    for number in range(10):
        if number in (1, 6):
            numa = number // 6
            device = m.pci(("1a:00.0", "9b:00.0")[numa], ids[1], "ethernet", ("19:01.1", "9a:01.1")[numa], numa)
            name = m.net(front if numa == 0 else "eth1", "10.0.10.5/20" if numa == 0 else "", device, "10.0.0.1" if numa == 0 else "", mtu=9000,
                         speed=100000, mac=m.mac(0xb80 + number))
            m.hca(f"{prefix}{number}", device, "RoCE", 100, seed=0xb80 + number, gids=gids(name))
        else:
            rail = next(rails)
            device = m.pci(nic_beside(rail), ids[0], "ethernet", chains[rail], rail // 4)
            name = m.net(f"rdma{rail}", f"10.224.{rail}.5/12", device, mtu=4220, speed=400000, mac=m.mac(0xb00 + rail))
            m.hca(f"{prefix}{number}", device, "RoCE", 400, seed=0xb00 + rail, gids=gids(name))


@machine("mi300x-cx7-oci")
def mi300x_cx7_oci(m):
    """OCI BM.GPU.MI300X.8 on the host network: 8 MI300X, ten mlx5 devices, of which mlx5_0, 2, 3, 4, 5, 7, 8 and 9 are the rails; mlx5_1 with
    eth0 and mlx5_6 are the node's own network.

    [D] the list (oracle-quickstart/oci-hpc-oke). [R] bus numbers of the GPUs. [G] which two are the node's own and at what rate, bridges,
    addresses.
    """
    chains = amd_host(m, "inst-9x2mi-gpu", "1002:74a1")
    m.dmi(sys_vendor="Oracle Corporation", product_name="ORACLE SERVER G5-8", chassis_asset_tag="OracleCloud.com")
    ten_nics(m, "mlx5_", (CX7, CX6DX), chains, "eth0", m.roce_gids)


@machine("mi355x-pollara")
def mi355x_pollara(m):
    """OCI BM.GPU.MI355X.8 on the host network: 8 MI355X, ten AMD Pensando devices, of which ionic_0, 2, 3, 4, 5, 7, 8 and 9 are Pollara rails.
    Their table has RoCE v2 alone: 0 is link-local, 1 is IPv4. ens9np0 has the default route.

    [D] the list, GID 1, the name ens9np0 (oci-hpc-oke), vendor 1dd8. [G] device ids of NIC (1002) and GPU (75a3), bus numbers, which
    two are the node's own, bridges, addresses.
    """
    chains = amd_host(m, "inst-3k5mi-gpu", "1002:75a3", "6.8.0-1025-oracle")
    m.dmi(sys_vendor="Oracle Corporation", product_name="ORACLE SERVER G6-8", chassis_asset_tag="OracleCloud.com")
    ten_nics(m, "ionic_", ("1dd8:1002", "1dd8:1002"), chains, "ens9np0", lambda name: m.roce_gids(name)[1::2])


@machine("slingshot")
def slingshot(m):
    """A node of HPE Cray EX with Slingshot, no container: 4 A100, four Cassini NICs as cxi0 to cxi3 with hsn0 to hsn3. There is no
    /sys/class/infiniband. nmn0 has the default route. aws-ofi-nccl is installed.

    [D] PCI id 17db:0501, the names hsn0 to hsn3, that NCCL goes through aws-ofi-nccl. [G] /sys/class/cxi, /dev/cxi0 and what they hold, the
    driver's name, bus numbers, addresses, place of the plugin.
    """
    bare_host(m, "nid001234")
    m.dmi(sys_vendor="HPE", product_name="HPE Cray EX235n", board_vendor="HPE", chassis_asset_tag="")
    m.nodes = ["0-15,64-79", "16-31,80-95", "32-47,96-111", "48-63,112-127"]
    m.memory_gib = 256
    m.cpu("AuthenticAMD", 25, 1, "AMD EPYC 7763 64-Core Processor")
    m.nvidia_driver()
    m.net("nmn0", "10.100.0.34/22", m.pci("21:00.0", "8086:1521", "ethernet", "20:05.1", 3, "igb", "5.0 GT/s PCIe", 4), "10.100.0.1", speed=1000)
    for index, bus in enumerate(("c1", "81", "41", "01")):
        m.gpu(f"{int(bus, 16) + 2:02x}:00.0", *A100, f"{int(bus, 16) - 1:02x}:01.1", index, "16.0 GT/s PCIe")
        device = m.pci(f"{bus}:00.0", "17db:0501", "ethernet", f"{int(bus, 16) - 1:02x}:03.1", index, speed="16.0 GT/s PCIe")
        m.net(f"hsn{index}", f"10.253.{index}.34/16", device, mtu=9000, speed=200000, mac=m.mac(0xc00 + index))
        m.link(f"{device}/cxi/cxi{index}/device", device)
        m.link(f"/sys/class/cxi/cxi{index}", f"{device}/cxi/cxi{index}")
        m.file(f"/dev/cxi{index}")
    m.file("/opt/aws-ofi-nccl/lib/libnccl-net.so")
    m.environ["LD_LIBRARY_PATH"] = "/opt/aws-ofi-nccl/lib"
