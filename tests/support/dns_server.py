"""A DNS server for tests: answers A or AAAA questions, as their addresses are, for the names it is given, NXDOMAIN for all others, and for the
given ones, too, until so many seconds after the first question have passed. With "never" it hears the questions and answers none.
A name may be given more than once: it has all these addresses, of which each who asks is told another first. @FILE holds further ones, a
line for each, and is read for every question.

usage: dns_server.py ADDRESS SECONDS|never NAME=IPV4|IPV6|@FILE...
"""
import socket
import struct
import sys
import time

TYPE_A, TYPE_AAAA = 1, 28
NO_ERROR, NAME_ERROR = 0, 3


def read_question(packet):
    """(name, type, end of the question); names in questions are never compressed."""
    labels, at = [], 12
    while packet[at]:
        labels.append(packet[at + 1:at + 1 + packet[at]].decode())
        at += 1 + packet[at]
    return ".".join(labels).lower(), struct.unpack(">H", packet[at + 1:at + 3])[0], at + 5


def record_of(address):
    """(type, bytes)."""
    if ":" in address:
        return TYPE_AAAA, socket.inet_pton(socket.AF_INET6, address)
    return TYPE_A, socket.inet_aton(address)


def addresses_of(wanted, words):
    """(type, bytes) of each."""
    for word in words:
        if word.startswith("@"):
            with open(word[1:]) as file:
                yield from addresses_of(wanted, file.read().split())
        elif word.split("=")[0] == wanted:
            yield record_of(word.split("=")[1])


def answer(packet, end, code, records):
    header = packet[:2] + struct.pack(">HHHHH", 0x8580 | code, 1, len(records), 0, 0)
    return header + packet[12:end] + b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(data)) + data for kind, data in records)


def main():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((sys.argv[1], 53))
    print("listening", flush=True)
    known_from = None
    while True:
        packet, peer = server.recvfrom(4096)
        name, kind, end = read_question(packet)
        if sys.argv[2] == "never":
            print("ignored", name, "for", peer[0], flush=True)
            continue
        known_from = known_from or time.monotonic() + float(sys.argv[2])
        known = list(addresses_of(name, sys.argv[3:])) if time.monotonic() >= known_from else []
        print("answered" if known else "NXDOMAIN", name, flush=True)
        found = [record for record in known if record[0] == kind]
        first = int(peer[0].split(".")[3]) % max(1, len(found))
        found = found[first:] + found[:first]
        server.sendto(answer(packet, end, NO_ERROR if known else NAME_ERROR, found), peer)


if __name__ == "__main__":
    main()
