"""What Linux shows of a machine in /sys, /proc and /dev: the parts of which make_trees.py builds whole machines.

One method for each thing that is plugged in: a PCI function, a GPU, a network interface, an RDMA device. Everything that
follows from them (links, class folders, routes, limits) is written by the method itself or by finish(). The formats are those
of drivers/infiniband/core/sysfs.c, net/core/net-sysfs.c, net/ipv4/fib_trie.c and net/ipv6/addrconf.c.
"""

import ipaddress
import posixpath
import uuid

PCI_CLASSES = {"gpu": "0x030200", "ib": "0x020700", "ethernet": "0x020000", "bridge": "0x060400", "nvswitch": "0x068000",
               "accelerator": "0x120000"}
LANES = {10: "1X QDR", 25: "1X EDR", 40: "4X QDR", 100: "4X EDR", 200: "4X HDR", 400: "4X NDR", 800: "4X XDR"}
EMPTY_GID = ":".join(["0000"] * 8)
VIRTUAL = "/sys/devices/virtual"
DRIVERS = {"15b3": "mlx5_core", "14e4": "bnxt_en", "1dd8": "ionic", "1ae0": "gve", "17db": "cxi_ss1"}  # of the PCI function
RDMA = {"15b3": ("mlx5", "mlx5_ib"), "1d0f": ("efa", "efa"), "14e4": ("bnxt_re", "bnxt_re"), "1dd8": ("ionic", "ionic_rdma")}  # provider, module
HCA_TYPES = {"1017": "MT4119", "1018": "MT4120", "101b": "MT4123", "101c": "MT4124", "101d": "MT4125", "101e": "MT4126", "1021": "MT4129",
             "a2dc": "MT41692"}
LIMITS = (("cpu time", "unlimited", "unlimited", "seconds"), ("stack size", "8388608", "unlimited", "bytes"),
          ("processes", "unlimited", "unlimited", "processes"), ("open files", "1048576", "1048576", "files"),
          ("locked memory", "unlimited", "unlimited", "bytes"), ("address space", "unlimited", "unlimited", "bytes"))


def full(address):
    """'18:00.0' of domain 0 -> '0000:18:00.0'."""
    return address if address.count(":") == 2 else "0000:" + address


def interface_id(mac):
    """The last 64 bits of the IPv6 address that the kernel makes of a MAC (EUI-64), as four groups."""
    b = [int(part, 16) for part in mac.split(":")]
    return f"{b[0] ^ 2:02x}{b[1]:02x}:{b[2]:02x}ff:fe{b[3]:02x}:{b[4]:02x}{b[5]:02x}"


def reversed_hex(address):
    """As /proc/net/route of a little-endian machine writes it: 10.1.2.3 -> 0302010A."""
    return address.packed[::-1].hex().upper()


def gid_of_ipv4(ip):
    packed = ipaddress.ip_interface(ip).ip.packed.hex()
    return f"0000:0000:0000:0000:0000:ffff:{packed[:4]}:{packed[4:]}"


class Machine:
    """Entries of one tree. `nodes`: the CPU list of each NUMA node; `bridges`: PCI ids of root ports and of switches."""

    def __init__(self, name, about):
        self.name = name
        self.about = about
        self.entries = {}
        self.nodes = ["0-55,112-167", "56-111,168-223"]
        self.bridges = ("8086:352a", "1000:c030")
        self.pci_paths = {}
        self.buses = {}  # domain and bus -> folder of its functions
        self.interfaces = []
        self.environ = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        self.gpus = 0
        self.verbs = 0
        self.pod = False
        self.root_complex = "/sys/devices"  # Azure's lies deeper
        self.memory_gib = 2048
        self.hugepages_gib = 0
        self.hostname = name

    # --- entries -------------------------------------------------------------------------------

    def file(self, path, text=""):
        self.entries[path] = ("file", str(text))

    def files(self, folder, values):
        for name, text in values.items():
            self.file(f"{folder}/{name}", text)

    def folder(self, path):
        self.entries[path] = ("folder", "")

    def unreadable(self, path, errno="EINVAL"):
        self.entries[path] = ("unreadable", errno)

    def link(self, path, to):
        """`to` is absolute. The link becomes relative, as sysfs has them: the last name of the target is always written out."""
        up = posixpath.relpath(posixpath.dirname(to), posixpath.dirname(path))
        self.entries[path] = ("link", posixpath.join("" if up == "." else up, posixpath.basename(to)))

    def text(self):
        lines = ["# " + line if line else "#" for line in self.about]
        for path, (kind, value) in sorted(self.entries.items()):
            if kind == "folder":
                lines.append(path + "/")
            elif kind == "link":
                lines.append(f"{path} -> {value}")
            elif kind == "unreadable":
                lines.append(f"{path} ! {value}")
            elif not value:
                lines.append(path)
            elif "\n" in value:
                lines += [path + ":"] + ["    " + line for line in value.split("\n")]
            else:
                lines.append(f"{path}: {value}")
        return "\n".join(lines) + "\n"

    # --- PCI and GPUs --------------------------------------------------------------------------

    def pci(self, address, ids, kind, chain="", numa=0, driver="", speed="32.0 GT/s PCIe", width=16, vf_of=""):
        """One PCI function, below the bridges of `chain` ('15:01.0/16:00.0/17:00.0'; '' = on the root bus itself)."""
        address = full(address)
        parents = [full(bridge) for bridge in chain.split("/") if bridge]
        domain, bus, _ = (parents + [address])[0].split(":")
        path = f"{self.root_complex}/pci{domain}:{bus}"
        for depth, bridge in enumerate(parents):
            path += "/" + bridge
            if bridge not in self.pci_paths:
                self._function(bridge, path, self.bridges[min(depth, 1)], PCI_CLASSES["bridge"], numa)
        path += "/" + address
        vendor = ids.split(":")[0]
        self._function(address, path, ids, PCI_CLASSES[kind], numa)
        self.files(path, {"current_link_speed": speed, "current_link_width": width, "max_link_speed": speed, "max_link_width": width})
        driver = driver or DRIVERS.get(vendor, "")
        if driver:
            self.link(f"{path}/driver", f"/sys/bus/pci/drivers/{driver}")
            self.link(f"/sys/bus/pci/drivers/{driver}/{address}", path)
            self.folder(f"/sys/module/{driver}")
        if vf_of:
            parent = self.pci_paths[full(vf_of)]
            self.link(f"{path}/physfn", parent)
            count = sum(name.startswith(f"{parent}/virtfn") for name in self.entries)
            self.link(f"{parent}/virtfn{count}", path)
            self.file(f"{parent}/sriov_numvfs", count + 1)
        return path

    def _function(self, address, path, ids, pci_class, numa):
        folder, bus = posixpath.dirname(path), address.rsplit(":", 1)[0]
        if self.buses.setdefault(bus, folder) != folder or address in self.pci_paths:
            raise ValueError(f"{self.name}: {address} is there twice, or its bus is below two bridges")
        vendor, device = ids.split(":")
        cpus = self.nodes[numa] if numa >= 0 else ",".join(self.nodes)
        self.files(path, {"vendor": "0x" + vendor, "device": "0x" + device, "class": pci_class, "numa_node": numa, "local_cpulist": cpus})
        self.link(f"/sys/bus/pci/devices/{address}", path)
        self.pci_paths[address] = path

    def gpu(self, address, model, ids, chain="", numa=0, speed="32.0 GT/s PCIe", granted=True):
        """An NVIDIA GPU with its driver."""
        address = full(address)
        self.pci(address, ids, "gpu", chain, numa, "nvidia", speed)
        minor = self.gpus
        self.gpus += 1
        serial = f"{minor}0000000-1111-2222-3333-44444444444{minor}"
        self.file(f"/proc/driver/nvidia/gpus/{address}/information", "\n".join([
            f"Model: \t\t {model}", f"IRQ:   \t\t {180 + minor}", f"GPU UUID: \t GPU-{serial}", "Video BIOS: \t 96.00.5e.00.01",
            "Bus Type: \t PCIe", "DMA Size: \t 52 bits", "DMA Mask: \t 0xfffffffffffff", f"Bus Location: \t {address}",
            f"Device Minor: \t {minor}", "GPU Excluded:\t No"]))
        if granted:
            self.file(f"/dev/nvidia{minor}")

    def nvidia_driver(self, version="550.90.07", opened=True, peermem=True, arch="x86_64"):
        flavour = f"UNIX Open Kernel Module for {arch}" if opened else f"UNIX {arch} Kernel Module"
        self.file("/proc/driver/nvidia/version", f"NVRM version: NVIDIA {flavour}  {version}  Release Build  (build@host)\n"
                  "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)")
        for module in ("nvidia", "nvidia_uvm") + (("nvidia_peermem",) if peermem else ()):
            self.file(f"/sys/module/{module}/version", version)
        for node in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"):
            self.file(f"/dev/{node}")

    def amd_gpus(self, addresses, ids, chains, numa):
        """AMD GPUs with their KFD nodes, which come after one node for each CPU node."""
        topology = "/sys/class/kfd/kfd/topology/nodes"
        for node in range(len(self.nodes)):
            self.file(f"{topology}/{node}/gpu_id", 0)
            self.file(f"{topology}/{node}/properties", "cpu_cores_count 64\nsimd_count 0\nlocation_id 0\ndrm_render_minor 0\nunique_id 0")
        for index, address in enumerate(addresses):
            self.pci(address, ids, "accelerator", chains[index], numa[index], "amdgpu")
            node, minor = f"{topology}/{len(self.nodes) + index}", 128 + 8 * index
            self.file(f"{node}/gpu_id", 28851 + index)
            self.file(f"{node}/properties", "\n".join([
                "cpu_cores_count 0", "simd_count 1216", "vendor_id 4098", f"device_id {int(ids.split(':')[1], 16)}",
                f"location_id {int(full(address).split(':')[1], 16) << 8}", "domain 0", f"drm_render_minor {minor}",
                "hive_id 9876543210123456789", "num_xcc 8", f"unique_id {17425205088889470976 + index}"]))
            self.file(f"/dev/dri/renderD{minor}")
        self.file("/dev/kfd")
        self.folder("/sys/module/amdgpu")

    # --- network interfaces --------------------------------------------------------------------

    def mac(self, seed):
        return f"b8:3f:d2:{seed >> 16 & 255:02x}:{seed >> 8 & 255:02x}:{seed & 255:02x}"

    def net(self, name, ip="", device="", gateway="", *, mtu=1500, speed=None, kind="", up=True, mac="", link=None, master="",
            link_type=1, flags=None, has_ipv6=True, ipv6="", metric=0):
        """One interface. `device`: the folder of its PCI function, '' = virtual; `kind`: DEVTYPE; `link`: another ifindex below it."""
        index = 1 if name == "lo" else 2 + sum(other["name"] != "lo" for other in self.interfaces)
        mac = mac or self.mac(0xe00 + index)
        path = f"{device or VIRTUAL}/net/{name}"
        self.interfaces.append(dict(name=name, index=index, ip=ip, gateway=gateway, up=up, mac=mac, ipv6=ipv6, metric=metric,
                                    has_ipv6=has_ipv6 and up and not master))
        state = "unknown" if link_type in (772, 65534) else "up" if up else "down"
        self.files(path, {
            "operstate": state, "carrier": int(up), "flags": flags or ("0x9" if name == "lo" else "0x1803" if master else "0x1003"),
            "mtu": mtu, "type": link_type, "ifindex": index, "iflink": link or index, "address": mac,
            "uevent": (f"DEVTYPE={kind}\n" if kind else "") + f"INTERFACE={name}\nIFINDEX={index}"})
        if speed is None or not up:
            self.unreadable(f"{path}/speed")
        else:
            self.file(f"{path}/speed", speed)
        if device:
            self.link(f"{path}/device", device)
        if master:
            self.link(f"{path}/master", f"{self._net_path(master)}")
        if kind == "bridge":
            self.file(f"{path}/bridge/bridge_id", "8000." + mac.replace(":", ""))
        if kind == "wlan":
            self.folder(f"{path}/wireless")
        if link_type == 65534:
            self.file(f"{path}/tun_flags", "0x1001")
        self.link(f"/sys/class/net/{name}", path)
        return name

    def _net_path(self, name):
        kind, target = self.entries[f"/sys/class/net/{name}"]
        assert kind == "link"
        return posixpath.normpath(posixpath.join("/sys/class/net", target))

    def veth(self, name, ip="", gateway="", mtu=1500, **more):
        """The pod's end of a veth pair, or (without address) the host's end. Its speed is always 10000."""
        return self.net(name, ip, "", gateway, mtu=mtu, speed=10000, link=40 + len(self.interfaces), **more)

    def ipoib(self, name, device, guid, ip="", mtu=2044, **more):
        mac = "00:00:10:49:fe:80:00:00:00:00:00:00:" + ":".join(guid.replace(":", "")[i:i + 2] for i in range(0, 16, 2))
        return self.net(name, ip, device, mtu=mtu, mac=mac, link_type=32, speed=400000, **more)

    def _interface(self, name):
        return next(entry for entry in self.interfaces if entry["name"] == name)

    # --- RDMA devices --------------------------------------------------------------------------

    def guid(self, seed):
        return f"b83f:d203:00{seed >> 16 & 255:02x}:{seed & 0xffff:04x}"

    def hca(self, name, device, layer, gbit, *, seed=0, card=None, netdev="", gids=None, slots=None, granted=True, pkeys=("0xffff", "0x0000"),
            lanes=""):
        """An RDMA device with its one port. `layer`: IB, RoCE or EFA; `netdev`: whose addresses are its GIDs, when `gids` is none.

        `gids`: [(value, type, netdev)], type None = a value that is seen and cannot be used; `card`: seed of the first port's."""
        vendor, model = (self.entries[f"{device}/{name_}"][1].removeprefix("0x") for name_ in ("vendor", "device"))
        path, guid = f"{device}/infiniband/{name}", self.guid(seed)
        if layer == "EFA":
            guid = EMPTY_GID[:19]
            gids = [("fe80:0000:0000:0000:" + interface_id(self.mac(seed)), None, None)]
        elif layer == "IB":
            gids = [("fe80:0000:0000:0000:" + guid, "IB/RoCE v1", None)]
        elif gids is None:
            gids = self.roce_gids(netdev)
        slots = slots or {"EFA": 1, "IB": 4, "RoCE": 6}[layer]
        card = guid if card is None else self.guid(card)
        self.files(path, {"node_type": "7: unspecified" if layer == "EFA" else "1: CA", "node_guid": guid, "sys_image_guid": card,
                          "fw_ver": "0.0.0.0" if layer == "EFA" else "28.39.1002"})
        if vendor == "15b3":
            self.files(path, {"hca_type": HCA_TYPES[model], "board_id": "MT_0000000838"})
        port = f"{path}/ports/1"
        self.files(port, {
            "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": f"{gbit} Gb/sec ({lanes or LANES[gbit]})",
            "link_layer": {"IB": "InfiniBand", "RoCE": "Ethernet", "EFA": "Unknown"}[layer],
            "lid": f"0x{0x10 + seed % 0x1000:x}" if layer == "IB" else "0x0", "sm_lid": "0x1" if layer == "IB" else "0x0"})
        for slot in range(slots):
            value, kind, ndev = gids[slot] if slot < len(gids) else (EMPTY_GID, None, None)
            self.file(f"{port}/gids/{slot}", value)
            for attribute, text in (("types", kind), ("ndevs", ndev)):
                if text:
                    self.file(f"{port}/gid_attrs/{attribute}/{slot}", text)
                else:
                    self.unreadable(f"{port}/gid_attrs/{attribute}/{slot}")
        for index, pkey in enumerate(pkeys[:1] if layer == "EFA" else pkeys):
            self.file(f"{port}/pkeys/{index}", pkey)
        self.link(f"{path}/device", device)
        self.link(f"/sys/class/infiniband/{name}", path)
        self._uverbs(name, device, granted)
        provider, module = RDMA[vendor]
        self.file(f"/etc/libibverbs.d/{provider}.driver", f"driver {provider}")
        for loaded in (module, "ib_core", "ib_uverbs", "rdma_ucm"):
            self.folder(f"/sys/module/{loaded}")

    def _uverbs(self, name, device, granted):
        path = f"{device}/infiniband_verbs/uverbs{self.verbs}"
        self.files(path, {"ibdev": name, "dev": f"231:{192 + self.verbs}", "abi_version": 1})
        self.link(f"{path}/device", device)
        self.link(f"/sys/class/infiniband_verbs/uverbs{self.verbs}", path)
        self.file("/sys/class/infiniband_verbs/abi_version", 6)
        if granted:
            self.file(f"/dev/infiniband/uverbs{self.verbs}")
            self.file("/dev/infiniband/rdma_cm")
        self.verbs += 1

    def roce_gids(self, netdev):
        """What the kernel makes of an interface: link-local, IPv4 and IPv6, each as RoCE v1 and v2."""
        entry = self._interface(netdev)
        values = ["fe80:0000:0000:0000:" + interface_id(entry["mac"])]
        values += [gid_of_ipv4(entry["ip"])] if entry["ip"] else []
        values += [ipaddress.ip_interface(entry["ipv6"]).ip.exploded] if entry["ipv6"] else []
        return [(value, kind, netdev) for value in values for kind in ("IB/RoCE v1", "RoCE v2")]

    # --- what follows from the rest ------------------------------------------------------------

    def dmi(self, **values):
        self.link("/sys/class/dmi/id", f"{VIRTUAL}/dmi/id")
        self.files(f"{VIRTUAL}/dmi/id", {name: text for name, text in values.items() if text})

    def cpu(self, vendor="GenuineIntel", family=6, model=143, name="Intel(R) Xeon(R) Platinum 8480C"):
        self.file("/proc/cpuinfo", f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: {name}")

    def arm_cpu(self):
        self.file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f")

    def finish(self):
        self.net("lo", "127.0.0.1/8", mtu=65536, link_type=772, mac="00:00:00:00:00:00")
        self._addresses()
        self._processors_and_memory()
        self._process()
        if "/proc/cpuinfo" not in self.entries:
            self.cpu()
        self.file("/etc/hostname", self.hostname)
        if "/etc/hosts" not in self.entries:
            own = next(entry["ip"].split("/")[0] for entry in self.interfaces if entry["gateway"])
            self.file("/etc/hosts", f"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n{own}\t{self.hostname}")
        self.file("/environ", "\n".join(f"{name}={value}" for name, value in sorted(self.environ.items())))

    def _addresses(self):
        default, routes, leaves, inet6 = [], [], {}, []
        for entry in sorted(self.interfaces, key=lambda one: one["index"]):
            name, metric = entry["name"], entry["metric"]

            def route(to, gateway, flags, mask):
                return "\t".join([name, reversed_hex(to), reversed_hex(gateway), f"{flags:04X}", "0", "0", str(metric), reversed_hex(mask), "0", "0", "0"])

            def leaf(address, words):
                lines = leaves.setdefault(address, [])
                if words not in lines:
                    lines.append(words)

            none = ipaddress.IPv4Address(0)
            if entry["ip"]:
                own = ipaddress.IPv4Interface(entry["ip"])
                leaf(own.ip, "/32 host LOCAL")
                scope = "host LOCAL" if name == "lo" else "link UNICAST"
                if own.network.prefixlen < 32:
                    leaf(own.network.network_address, f"/{own.network.prefixlen} {scope}")
                    leaf(own.network.broadcast_address, "/32 link BROADCAST")
                    if name != "lo":
                        routes.append(route(own.network.network_address, none, 1, own.network.netmask))
                if entry["gateway"]:
                    gateway = ipaddress.IPv4Address(entry["gateway"])
                    default.append(route(none, gateway, 3, none))
                    leaf(none, "/0 universe UNICAST")
                    if gateway not in own.network:
                        routes.append(route(gateway, none, 5, ipaddress.IPv4Address("255.255.255.255")))
                        leaf(gateway, "/32 link UNICAST")
            ipv6 = [(ipaddress.IPv6Interface("::1/128"), 0x10)] if name == "lo" else []
            if entry["has_ipv6"] and name != "lo":
                is_ipoib = len(entry["mac"]) > 17  # its address ends with the port's GUID
                last = (entry["mac"][-23:] if is_ipoib else interface_id(entry["mac"])).replace(":", "")
                ipv6.append((ipaddress.IPv6Interface((int("fe80" + "0" * 12 + last, 16), 64)), 0x20))
            if entry["ipv6"]:
                ipv6.append((ipaddress.IPv6Interface(entry["ipv6"]), 0x00))
            for address, scope in ipv6:
                inet6.append(f"{address.ip.packed.hex()} {entry['index']:02x} {address.network.prefixlen:02x} {scope:02x} 80 {name:>8}")
        header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        self.file("/proc/net/route", "\n".join([header] + default + routes))
        trie = ["  +-- 0.0.0.0/0 3 0 5"]
        for address, words in sorted(leaves.items()):
            trie += [f"     |-- {address}"] + [f"        {word}" for word in words]
        self.file("/proc/net/fib_trie", "\n".join(["Main:"] + trie + ["Local:"] + trie))
        self.file("/proc/net/if_inet6", "\n".join(inet6))

    def _node_list(self):
        return f"0-{len(self.nodes) - 1}" if len(self.nodes) > 1 else "0"

    def _processors_and_memory(self):
        system = "/sys/devices/system"
        numbers = [int(end) for cpus in self.nodes for part in cpus.split(",") for end in part.split("-")]
        self.file(f"{system}/cpu/online", f"0-{max(numbers)}")
        self.file(f"{system}/node/online", self._node_list())
        for node, cpus in enumerate(self.nodes):
            self.file(f"{system}/node/node{node}/cpulist", cpus)
            self.file(f"{system}/node/node{node}/distance", " ".join("10" if node == other else "21" for other in range(len(self.nodes))))
        arm = "CPU implementer" in self.entries.get("/proc/cpuinfo", ("", ""))[1]
        self.file(f"{system}/clocksource/clocksource0/current_clocksource", "arch_sys_counter" if arm else "tsc")
        huge, total = self.hugepages_gib * 512, self.memory_gib << 20
        self.file("/proc/meminfo", "\n".join(f"{name + ':':<16}{value:>8}{unit}" for name, value, unit in (
            ("MemTotal", total, " kB"), ("MemFree", total - (total >> 4) - (huge << 11), " kB"),
            ("MemAvailable", total - (total >> 4) - (huge << 11), " kB"), ("HugePages_Total", huge, ""), ("HugePages_Free", huge, ""),
            ("HugePages_Rsvd", 0, ""), ("Hugepagesize", 2048, " kB"))))
        self.files("/sys/kernel/mm/hugepages/hugepages-2048kB", {"nr_hugepages": huge, "free_hugepages": huge, "resv_hugepages": 0})

    def _process(self):
        kernel = "/proc/sys/kernel"
        self.files(kernel, {"random/boot_id": uuid.uuid5(uuid.NAMESPACE_DNS, self.name), "hostname": self.hostname,
                            "numa_balancing": 0, "pid_max": 4194304})
        self.entries.setdefault(f"{kernel}/osrelease", ("file", "6.8.0-1015-generic"))
        self.file("/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999")
        caps = "00000000a80465fb" if self.pod else "000001ffffffffff"
        everywhere = ",".join(self.nodes)
        self.file("/proc/self/status", "\n".join([
            "Name:\tmuster", "Uid:\t0\t0\t0\t0", "Gid:\t0\t0\t0\t0", "CapInh:\t0000000000000000", f"CapPrm:\t{caps}", f"CapEff:\t{caps}",
            f"CapBnd:\t{caps}", "CapAmb:\t0000000000000000", "NoNewPrivs:\t0", "Seccomp:\t0", f"Cpus_allowed_list:\t{everywhere}",
            f"Mems_allowed_list:\t{self._node_list()}"]))
        limits = [f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}Units"]
        limits += [f"{'Max ' + name:<26}{soft:<21}{hard:<21}{unit}" for name, soft, hard, unit in LIMITS]
        self.file("/proc/self/limits", "\n".join(limits))
        self.file("/ulimits", "\n".join(limits))
        self.file("/proc/self/uid_map", "         0          0 4294967295")
        group = "" if self.pod else "/system.slice/training.service"
        self.file("/proc/self/cgroup", f"0::{group or '/'}")
        shm_kib = self.memory_gib << 19  # half of the memory: the default of tmpfs, and of an emptyDir of medium Memory
        root, name = ("overlay overlay", "tmpfs shm") if self.pod else ("ext4 /dev/root", "tmpfs tmpfs")
        self.file("/proc/self/mountinfo", "\n".join([
            f"1201 1100 0:310 / / rw,relatime - {root} rw", "1203 1201 0:312 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw",
            "1204 1201 0:313 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755,inode64",
            "1207 1201 0:26 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw",
            f"1209 1204 0:309 / /dev/shm rw,nosuid,nodev,noexec,relatime - {name} rw,size={shm_kib}k,inode64"]))
        huge = (self.hugepages_gib << 30) if self.pod else "max"
        self.file("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc")
        self.files(f"/sys/fs/cgroup{group}", {"cpu.max": "max 100000", "memory.max": "max", "pids.max": "max", "hugetlb.2MB.max": huge,
                                             "cpuset.cpus.effective": everywhere})
