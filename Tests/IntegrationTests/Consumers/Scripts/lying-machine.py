"""A machine to which an SSH agent is forwarded, and that has lies about itself: signs with a key of the agent.

    lying-machine.py KEY.pub none|garbage|unproved|other

KEY.pub has the key, as ssh-keygen writes it; then the lie. Prints "signed" or "refused".
"""
import base64
import os
import socket
import struct
import sys

FAILURE, SUCCESS, SIGN_REQUEST, SIGN_RESPONSE, EXTENSION = 5, 6, 13, 14, 27


def string(value):
    return struct.pack(">I", len(value)) + value


def exchange(agent, message):
    agent.sendall(string(message))
    length = struct.unpack(">I", read(agent, 4))[0]
    return read(agent, length)


def read(agent, count):
    data = b""
    while len(data) < count:
        part = agent.recv(count - len(data))
        if not part:
            sys.exit("the agent has closed the connection")
        data += part
    return data


def bind(agent, content):
    return exchange(agent, bytes([EXTENSION]) + string(b"session-bind@openssh.com") + content)[0]


def host_key(number):
    """The key of another machine, of which this one has no private half."""
    return string(b"ssh-ed25519") + string(bytes([number]) * 32)


def claim(agent, lie):
    signature = string(b"ssh-ed25519") + string(bytes(64))
    unproved = string(host_key(1)) + string(b"session") + string(signature) + b"\1"
    if lie == "garbage":
        assert bind(agent, b"no bind") == FAILURE
    elif lie == "unproved":
        assert bind(agent, unproved) == FAILURE
    elif lie == "other":
        # A login elsewhere that is no forwarding, and an attempt to go on behind it.
        assert bind(agent, unproved[:-1] + b"\0") == FAILURE


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        key = base64.b64decode(file.read().split()[1])
    agent = socket.socket(socket.AF_UNIX)
    agent.connect(os.environ["SSH_AUTH_SOCK"])
    claim(agent, sys.argv[2])
    answer = exchange(agent, bytes([SIGN_REQUEST]) + string(key) + string(b"data of no form") + struct.pack(">I", 0))
    print("signed" if answer[0] == SIGN_RESPONSE else "refused")


main()
