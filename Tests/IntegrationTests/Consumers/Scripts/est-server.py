"""An authority that enrols by EST (RFC 7030): est-server.py PORT FOLDER, with server.pem, server.key, ca.pem and ca.key in the folder.

A first certificate is for who knows the password, a further one for who shows the server the certificate that it replaces.
"""

import base64
import http.server
import ssl
import subprocess
import sys


class Authority(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        authorization = "Basic " + base64.b64encode(b"jo:secret").decode()
        known = {
            "/.well-known/est/simpleenroll": self.headers["Authorization"] == authorization,
            "/.well-known/est/simplereenroll": bool(self.connection.getpeercert()),
        }
        if self.path not in known:
            return self.send_error(404)
        if not known[self.path]:
            return self.send_error(401)
        if self.headers["Content-Type"] != "application/pkcs10":
            return self.send_error(415)
        request = base64.b64decode(self.rfile.read(min(int(self.headers["Content-Length"]), 65536)))
        authority = ["-CA", folder + "/ca.pem", "-CAkey", folder + "/ca.key", "-days", "30"]
        certificate = openssl(["x509", "-req", "-inform", "DER"] + authority, request)
        answer = base64.encodebytes(
            openssl(["crl2pkcs7", "-nocrl", "-certfile", "/dev/stdin", "-outform", "DER"], certificate))
        self.send_response(200)
        self.send_header("Content-Type", "application/pkcs7-mime; smime-type=certs-only")
        self.send_header("Content-Transfer-Encoding", "base64")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def openssl(arguments, data):
    return subprocess.run(["openssl"] + arguments, input=data, stdout=subprocess.PIPE, check=True).stdout


port, folder = int(sys.argv[1]), sys.argv[2]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/server.pem", folder + "/server.key")
context.load_verify_locations(folder + "/ca.pem")
context.verify_mode = ssl.CERT_OPTIONAL
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Authority)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
