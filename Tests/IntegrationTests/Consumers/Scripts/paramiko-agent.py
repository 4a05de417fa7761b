"""Signs in with each key of the SSH agent by paramiko, with each algorithm for signatures that the key has.

    paramiko-agent.py PORT KNOWN_HOSTS

Prints the kind of each key and the algorithm, once the server has let the user in, and at last "all keys signed in".
"""
import getpass
import struct
import sys

import paramiko

# RSA keys have two algorithms, which the agent is told by flags (RFC 8332).
RSA = ["rsa-sha2-512", "rsa-sha2-256"]


def name(signature):
    """The algorithm that a signature says it is of."""
    length = struct.unpack(">I", signature[:4])[0]
    return signature[4 : 4 + length].decode()


def sign_in(port, known, key, algorithm):
    client = paramiko.SSHClient()
    client.load_host_keys(known)
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    others = [other for other in RSA + ["ssh-rsa"] if other != algorithm]
    client.connect(
        "127.0.0.1", port, getpass.getuser(), pkey=key, allow_agent=False, look_for_keys=False, timeout=60,
        auth_timeout=60, banner_timeout=60, disabled_algorithms={"pubkeys": others})
    try:
        _, output, _ = client.exec_command("echo the other side")
        assert output.read() == b"the other side\n"
    finally:
        client.close()


def main():
    port, known = int(sys.argv[1]), sys.argv[2]
    for key in paramiko.Agent().get_keys():
        kind = key.get_name()
        for algorithm in RSA if kind == "ssh-rsa" else [kind]:
            signed = name(key.sign_ssh_data(b"some data", algorithm))
            assert signed == algorithm, (signed, algorithm)
            sign_in(port, known, key, algorithm)
            print(kind, algorithm)
    print("all keys signed in")


main()
