"""Opens a page in a Firefox that runs with --marionette: open-page.py PORT URL. Does not wait for the page."""

import json
import socket
import sys


class Marionette:
    """Messages are a length, a colon and JSON: https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html"""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.socket.makefile("rb")
        self.receive()

    def receive(self):
        length = b""
        while (byte := self.file.read(1)) != b":":
            if not byte:
                raise EOFError
            length += byte
        return json.loads(self.file.read(int(length)))

    def __call__(self, command, **parameters):
        text = json.dumps([0, 1, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        error = self.receive()[2]
        # The question may come up just now: then it is what the caller waits for.
        if error and error["error"] != "unexpected alert open":
            raise RuntimeError(error["message"])


firefox = Marionette(int(sys.argv[1]))
# A dialog that asks for a PIN stays.
firefox("WebDriver:NewSession", pageLoadStrategy="none", unhandledPromptBehavior="ignore")
firefox("WebDriver:Navigate", url=sys.argv[2])
firefox("WebDriver:DeleteSession")
