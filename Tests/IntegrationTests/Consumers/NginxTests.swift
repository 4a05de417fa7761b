import Foundation
import SystemCrypto
import TestSupport
import Testing

/// A web server has its key in the module: the master loads it, and the workers, which are forked from it, sign.
@Suite struct NginxTests {
    @Test(arguments: OpenSSHTests.kinds) func workersSignWithTheKeyThatTheMasterLoaded(kind: KeyKind) throws {
        let card = try ConsumerCard(["9A": kind])
        let log = card.path("calls")
        let environment = [
            "OPENSSL_CONF": try card.folder.write("openssl.cnf", Self.engine), "TOKENKIT_DEBUG": log,
        ]
        let (nginx, port) = try card.serve(named: "nginx", environment) { port in
            let configuration = try card.folder.write(
                "nginx.conf", Self.configuration(card, port, Array(card.environment.keys) + environment.keys))
            return ["nginx", "-p", card.folder.path, "-c", configuration, "-e", "stderr"]
        }
        var workers: Set<Substring> = []
        for attempt in 0..<300 where attempt < 4 || workers.count < 2 {
            let page = try card.output(of: [
                "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", card.path("ca.pem"), "--resolve",
                "localhost:\(port):127.0.0.1", "--tls-max", attempt % 2 == 0 ? "1.2" : "1.3",
                "https://localhost:\(port)/",
            ])
            let words = page.split(separator: " ")
            try #require(words.count == 2, "\(page)")
            #expect(words[1] == (attempt % 2 == 0 ? "TLSv1.2" : "TLSv1.3"))
            workers.insert(words[0])
        }
        #expect(workers.count == 2)
        let calls = try card.text("calls").split(separator: "\n")
        for worker in workers.map({ "tokenkit-pkcs11[\($0)]" }) {
            #expect(calls.contains { $0.hasPrefix(worker) && $0.hasSuffix("C_Initialize CKR_OK") })
            #expect(calls.contains { $0.hasPrefix(worker) && $0.hasSuffix("C_Sign CKR_OK") })
        }
        let master = "tokenkit-pkcs11[\(nginx.identifier)]"
        #expect(calls.contains { $0.hasPrefix(master) && $0.contains(" C_Login ") })
        #expect(!calls.contains { $0.hasPrefix(master) && $0.contains(" C_Sign ") })
    }

    private static let engine = """
        openssl_conf = init
        [init]
        engines = engines
        [engines]
        pkcs11 = pkcs11
        [pkcs11]
        engine_id = pkcs11
        MODULE_PATH = \(ConsumerCard.module)
        init = 0

        """

    private static func configuration(_ card: ConsumerCard, _ port: Int, _ variables: [String]) -> String {
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        return """
            worker_processes 2;
            daemon off;
            pid nginx.pid;
            error_log stderr info;
            user \(NSUserName());
            ssl_engine pkcs11;
            \(variables.map { "env \($0);" }.joined(separator: "\n"))
            events {}
            http {
                access_log off;
                \(folders.map { "\($0)_temp_path \($0);" }.joined(separator: "\n    "))
                ssl_session_cache off;
                ssl_session_tickets off;
                ssl_protocols TLSv1.2 TLSv1.3;
                server {
                    listen 127.0.0.1:\(port) ssl;
                    ssl_certificate \(card.path("9A.pem"));
                    ssl_certificate_key "engine:pkcs11:\(ConsumerCard.token);id=%01;type=private?pin-value=\(ConsumerCard.pin)";
                    location / { return 200 "$pid $ssl_protocol"; }
                }
            }

            """
    }
}
