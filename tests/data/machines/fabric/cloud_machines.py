"""The machines of the clouds: Azure, OCI, AWS, Google Cloud, CoreWeave. Not those that somebody builds: cluster_machines.py.

[D] the cloud's or vendor's documentation or published scripts, [S] source of a library or the kernel, [R] reported from
such machines or generally known, and not checked by us, [G] our guess. Nothing here was recorded.
"""

from parts import (A100, B200, CX6_VF, CX6DX, CX7, ENA, GVNIC, H100, H200, MLX_VF, bare_host, hgx_gpus, hgx_nic, in_pod, machine)


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


# --- OCI --------------------------------------------------------------------------------------

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


@machine("oci-h100-pod")
def oci_h100_pod(m):
    """OCI BM.GPU.H100.8, a pod with 16 VFs (nvidia.com/rdma-vf: 16) that rdma-cni moved in, so that no other RDMA device is seen.
    net1 to net16 are those VFs; eth0 is a veth. The names of the devices are whatever numbers the host had left.

    [D] 16 VFs, net1 to net16, `NCCL_IB_HCA=mlx5` (oracle-quickstart/oci-hpc-oke), PCI id of a VF. [S] what exclusive mode shows.
    [G] names, addresses of VFs, bridges, IP addresses.
    """
    in_pod(m, "10.0.64.9/18", "10.0.64.1", 9000)
    oracle(m)
    m.nvidia_driver()
    oci_h100_gpus(m)
    m.verbs = 18
    for rail in range(16):
        parent = oci_h100_port(m, rail)
        m.folder(f"{parent}/net")
        _, nic, switch = OCI_H100[rail // 2]
        device = m.pci(f"{nic}:{rail % 2:02x}.2", MLX_VF, "ethernet", f"{switch}:00.0", rail // 8, vf_of=f"{nic}:00.{rail % 2}")
        name = m.net(f"net{rail + 1}", f"10.224.{rail + 32}.9/12", device, mtu=4220, speed=200000, mac=m.mac(0x2000 + rail))
        m.hca(f"mlx5_{18 + rail}", device, "RoCE", 200, seed=0x2000 + rail, card=0x100 + rail // 2 * 2, netdev=name, slots=8)


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


P5_GPUS = (0x53, 0x64, 0x75, 0x86, 0x97, 0xa8, 0xb9, 0xca)
P6_GPUS = (0x1f, 0x2f, 0x3f, 0x5f, 0x8f, 0x9f, 0xaf, 0xbf)


def amazon_switches(m, ids, ports, gpus=P5_GPUS):
    """8 GPUs, each behind a switch with `ports` EFA devices. Returns what amazon() wants to know of them."""
    m.bridges = ("1d0f:0200", "1d0f:0200")
    m.nodes = ["0-47,96-143", "48-95,144-191"]
    m.nvidia_driver("570.133.20")
    buses = []
    for index, gpu in enumerate(gpus):
        up = f"{gpu - 7:02x}:01.0/{gpu - 6:02x}:00.0/{gpu - 5:02x}"
        m.gpu(f"{gpu:02x}:00.0", *ids, f"{up}:04.0", index // 4)
        buses += [(gpu - 4 + port, f"{up}:0{port}.0", index // 4, 0) for port in range(ports)]
    return buses


@machine("aws-p5-pod")
def aws_p5_pod(m):
    """AWS p5.48xlarge, a pod of EKS with the VPC CNI: 8 H100, 32 EFA devices of 100 Gb/s, four for each GPU; eth0 is a veth with a /32.

    [D] names of the EFA devices of six GPUs, their number, rate and link layer, hugepages of the example, product name, places of
    the plugin. [R] bus numbers of the GPUs. [G] the bridges (1d0f:0200) and the PCI id efa1, names of the other eight, addresses.
    """
    amazon_pod(m)
    m.hugepages_gib = 42
    m.cpu("AuthenticAMD", 25, 1, "AMD EPYC 7R13 Processor")
    amazon(m, "p5.48xlarge", 100, "4X EDR", amazon_switches(m, H100, 4), "1d0f:efa1")


@machine("aws-p4d-pod")
def aws_p4d_pod(m):
    """AWS p4d.24xlarge, a pod of EKS: 8 A100, 4 EFA devices of 100 Gb/s; GPUs and NICs sit on four root buses without bridges.

    [D] bus numbers, NUMA nodes, PCI id efa0, rate, hugepages of the example. [G] names of the EFA devices (rdmap<bus>s<slot>), addresses.
    """
    amazon_pod(m)
    m.hugepages_gib = 21
    m.nodes = ["0-23,48-71", "24-47,72-95"]
    m.memory_gib = 1152
    m.cpu("GenuineIntel", 6, 85, "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz")
    m.nvidia_driver()
    for index, bus in enumerate((0x10, 0x20, 0x90, 0xa0)):
        for slot in (0x1c, 0x1d):
            m.gpu(f"{bus:02x}:{slot:02x}.0", "NVIDIA A100-SXM4-40GB", "10de:20b0", "", index // 2, "16.0 GT/s PCIe")
    amazon(m, "p4d.24xlarge", 100, "4X EDR", [(bus, "", index // 2, 0x1b) for index, bus in enumerate((0x10, 0x20, 0x90, 0xa0))], "1d0f:efa0")


def amazon_host(m):
    """An EC2 instance itself: the first ENA has the default route, more ENIs are in the same subnet."""
    bare_host(m, "ip-10-1-44-7")
    m.net("ens32", "10.1.44.7/19", m.pci("0d:00.0", ENA, "ethernet", "0c:01.0", 0, "ena"), "10.1.32.1", mtu=9001, metric=512)
    for index, bus in enumerate((71, 209, 211)):
        device = m.pci(f"{bus:02x}:00.0", ENA, "ethernet", f"{bus - 1:02x}:01.0", index // 2, "ena")
        m.net(f"enp{bus}s0", f"10.1.45.{20 + index}/19", device, mtu=9001, metric=513 + index)


@machine("aws-p5en-host")
def aws_p5en_host(m):
    """AWS p5en.48xlarge itself (host network): 8 H200, 16 EFA devices of 200 Gb/s, two for each GPU. ens32 has the default route; three more
    ENIs are up in the same subnet. No docker0.

    [D] number, rate and ids of the devices, the name ens32, product name. [S] that guests show switches, 1d0f:0200 (aws-ofi-nccl).
    [G] bus numbers (those of p5), hence the names of the EFA devices; number, names and addresses of the other ENIs.
    """
    amazon_host(m)
    m.hugepages_gib = 42
    amazon(m, "p5en.48xlarge", 200, "4X HDR", amazon_switches(m, H200, 2), "1d0f:efa2")


@machine("aws-p6-b200-host")
def aws_p6_b200_host(m):
    """AWS p6-b200.48xlarge itself: 8 B200, 8 EFA devices of 400 Gb/s. Two mlx5 functions belong to the NVSwitches; they are in
    /sys/class/infiniband and ACTIVE, but /dev/infiniband does not have them.

    [D] number, rate and id of the EFA devices. [R] the two mlx5 functions and their names (aws-do-eks#63).
    [G] all other bus numbers, that the two are ACTIVE and InfiniBand, addresses.
    """
    amazon_host(m)
    m.hugepages_gib = 42
    amazon(m, "p6-b200.48xlarge", 400, "8X HDR", amazon_switches(m, B200, 1, P6_GPUS), "1d0f:efa3")
    for bus in (115, 116):
        device = m.pci(f"{bus:02x}:00.0", CX7, "ib", f"72:0{bus - 114}.0", 0, speed="16.0 GT/s PCIe", width=2)
        m.hca(f"ibp{bus}s0f0", device, "IB", 400, seed=0x700 + bus, granted=False)


# --- Google Cloud ------------------------------------------------------------------------------

def google(m, model, ids, nics, chains=(("00:01.0/02:00.0/03", "04"), ("00:02.0/08:00.0/09", "0a"), ("80:01.0/82:00.0/83", "84"),
                                        ("80:02.0/88:00.0/89", "8a"))):
    """Four switches with two GPUs each. Returns address, chain and NUMA node of `nics` more functions behind each of them."""
    m.dmi(sys_vendor="Google", product_name="Google Compute Engine", board_vendor="Google", chassis_asset_tag="", bios_vendor="Google")
    m.nodes = ["0-51,104-155", "52-103,156-207"]
    m.nvidia_driver("570.133.20")
    found = []
    for index, (switch, bus) in enumerate(chains):
        first = int(bus, 16)
        for gpu in range(2):
            m.gpu(f"{first + gpu:02x}:00.0", model, ids, f"{switch}:0{gpu}.0", index // 2)
        found += [(f"{first + 2 + nic:02x}:00.0", f"{switch}:0{2 + nic}.0", index // 2) for nic in range(nics)]
    m.folder(m.pci("00:0c.0", GVNIC, "ethernet", "", 0) + "/net")  # the node's own interface, in the node's network namespace
    return found


def gvnics(m, functions):
    for index, (address, chain, numa) in enumerate(functions, start=1):
        m.net(f"eth{index}", f"10.{10 + index}.0.5/24", m.pci(address, GVNIC, "ethernet", chain, numa), mtu=8244, speed=200000)


def exports(values):
    return "\n".join(f"export {name}={value}" for name, value in values.items())


@machine("gcp-a3-high-pod")
def gcp_a3_high_pod(m):
    """GKE a3-highgpu-8g, a pod with GPUDirect-TCPX: 8 H100, four gVNIC of 200 Gb/s as eth1 to eth4, the control network on eth0 (veth).
    There is no InfiniBand. The plugin and the socket of its receive daemon are there.

    [D] interfaces, plugin, the folder of the daemon's socket. [R] bus numbers. [G] bridges, addresses, place of the plugin's library.
    """
    in_pod(m, "10.8.3.12/24", "10.8.3.1", 1460)
    gvnics(m, google(m, *H100, 1))
    m.file("/usr/local/tcpx/lib64/libnccl-net.so")
    m.folder("/run/tcpx")
    m.environ["LD_LIBRARY_PATH"] = "/usr/local/tcpx/lib64:/usr/local/nvidia/lib64"


@machine("gcp-a3-mega-pod")
def gcp_a3_mega_pod(m):
    """GKE a3-megagpu-8g, a pod with GPUDirect-TCPXO: 8 H100, eight gVNIC as eth1 to eth8, eth0 for control. The installer left
    nccl-env-profile.sh.

    [D] interfaces, files and the values in nccl-env-profile.sh; the real script has more logic. [G] bus numbers, addresses.
    """
    in_pod(m, "10.8.4.12/24", "10.8.4.1", 1460)
    gvnics(m, google(m, *H100, 2))
    place = "/usr/local/nvidia/lib64"
    m.file(f"{place}/nccl-env-profile.sh", exports({
        "NCCL_FASTRAK_CTRL_DEV": "eth0", "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8", "NCCL_SOCKET_IFNAME": "eth0",
        "NCCL_CROSS_NIC": 0, "NCCL_PROTO": "Simple,LL128", "NCCL_NVLSTREE_MAX_CHUNKSIZE": 131072, "NCCL_P2P_NET_CHUNKSIZE": 524288,
        "NCCL_P2P_PCI_CHUNKSIZE": 524288, "NCCL_P2P_NVL_CHUNKSIZE": 1048576, "NCCL_BUFFSIZE": 8388608, "NCCL_FASTRAK_NUM_FLOWS": 2,
        "NCCL_FASTRAK_USE_SNAP": 1, "NCCL_FASTRAK_USE_LLCM": 1, "NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY": "/dev/aperture_devices",
        "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": 600000, "NCCL_NET_GDR_LEVEL": "PIX", "NCCL_TUNER_PLUGIN": "libnccl-tuner.so",
        "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE": f"{place}/a3plus_guest_config.textproto"}))
    for name in ("libnccl-net.so", "libnccl-tuner.so", "a3plus_guest_config.textproto"):
        m.file(f"{place}/{name}")
    m.folder("/dev/aperture_devices")
    m.environ["LD_LIBRARY_PATH"] = place


@machine("gcp-a3-ultra-pod")
def gcp_a3_ultra_pod(m):
    """GKE a3-ultragpu-8g, a pod with gIB: 8 H200, eight ConnectX-7 VFs as mlx5_0 to mlx5_7 with eth2 to eth9, two gVNIC. set_nccl_env.sh is
    there.

    [D] interfaces, rate, PCI ids, GID 3, place of the script and its values; the real script has more logic. [R] bus numbers of the
    GPUs. [G] bus numbers of the NICs, bridges, addresses.
    """
    in_pod(m, "10.8.5.12/24", "10.8.5.1", 1460)
    chains = (("8c:01.0/8d:00.0/8e", "8f"), ("93:01.0/94:00.0/95", "96"), ("c1:01.0/c2:00.0/c3", "c4"), ("c8:01.0/c9:00.0/ca", "cb"))
    functions = google(m, *H200, 2, chains)
    m.net("eth1", "10.9.0.5/24", m.pci("80:0c.0", GVNIC, "ethernet", "", 1), mtu=8896, speed=200000)
    for index, (address, chain, numa) in enumerate(functions):
        device = m.pci(address, MLX_VF, "ethernet", chain, numa)
        name = m.net(f"eth{index + 2}", f"10.{20 + index}.0.5/24", device, mtu=8896, speed=400000, mac=m.mac(0x600 + index))
        m.hca(f"mlx5_{index}", device, "RoCE", 400, seed=0x600 + index, netdev=name)
    m.file("/usr/local/gib/scripts/set_nccl_env.sh", exports({
        "NCCL_NET": "gIB", "NCCL_CROSS_NIC": 0, "NCCL_NET_GDR_LEVEL": "PIX", "NCCL_P2P_NET_CHUNKSIZE": 131072,
        "NCCL_NVLS_CHUNKSIZE": 524288, "NCCL_IB_ADAPTIVE_ROUTING": 1, "NCCL_IB_QPS_PER_CONNECTION": 4, "NCCL_IB_TC": 52,
        "NCCL_IB_FIFO_TC": 84, "NCCL_TUNER_CONFIG_PATH": "/usr/local/gib/configs/tuner_config_a3u.txtpb"}))
    for name in ("lib64/libnccl-net.so", "lib64/libnccl-tuner.so", "configs/tuner_config_a3u.txtpb"):
        m.file(f"/usr/local/gib/{name}")
    m.environ["LD_LIBRARY_PATH"] = "/usr/local/gib/lib64:/usr/local/nvidia/lib64"


# --- CoreWeave ---------------------------------------------------------------------------------

@machine("coreweave-h100")
def coreweave_h100(m):
    """CoreWeave HGX H100, a pod with rdma/ib: 8 InfiniBand devices that are called ibp0 to ibp7. No IPoIB and no net1: eth0 alone.

    [D] names, rdma/ib, eth0 (coreweave/nccl-tests). [G] bus numbers and bridges (those of the DGX), addresses.
    """
    in_pod(m, "10.240.7.33/32", "169.254.1.1", 1450)
    m.dmi(sys_vendor="Supermicro", product_name="SYS-821GE-TNHR", board_vendor="Supermicro", chassis_asset_tag="Default string")
    m.nvidia_driver()
    hgx_gpus(m, *H100)
    for rail in range(8):
        device = hgx_nic(m, rail, CX7, "ib")
        m.folder(f"{device}/net")
        m.hca(f"ibp{rail}", device, "IB", 400, seed=0x800 + rail)
