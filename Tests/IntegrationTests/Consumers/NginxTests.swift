import Foundation
import SystemCrypto
import TestSupport
import Testing

/// A web server has its key in the module: the master loads the key, and the workers, which it forks, sign.
@Suite struct NginxTests {
    @Test(arguments: OpenSSHTests.kinds) func workersSignWithTheKeyThatTheMasterLoaded(kind: KeyKind) throws {
        let server = try NginxServer(ServerKey(.card, kind), workers: 2)
        let (card, nginx) = (server.key.card, server.service)
        var workers: Set<Substring> = []
        for attempt in 0..<300 where attempt < 4 || workers.count < 2 {
            let page = try card.output(of: server.get(version: attempt % 2 == 0 ? "1.2" : "1.3"))
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

    /// For a reload the master loads the key again and starts a worker; if a worker exits, it only starts another one.
    @Test(arguments: [(KeyKind.rsa(bits: 2048), 50), (.ecP256, 10)])
    func reloadsAndLosesWorkersWithAKeyOfAKeychain(kind: KeyKind, rounds: Int) throws {
        let server = try NginxServer(ServerKey(.keychain, kind), workers: 1)
        let card = server.key.card
        var worker = try #require(server.worker)
        for round in 1...rounds {
            if round % 2 == 0 { kill(server.service.identifier, SIGHUP) } else { kill(worker, SIGTERM) }
            var next: pid_t?
            eventually {
                next = server.worker
                return next != nil && next != worker
            }
            worker = try #require(next, "\(card.log(of: "nginx"))")
            try #require(server.service.isRunning)
        }
        let log = card.log(of: "nginx").split(separator: "\n")
        #expect(log.filter { $0.contains("exited on signal") } == [])
        #expect(log.filter { $0.contains("exited with code") && !$0.contains("exited with code 0") } == [])
        let calls = try card.text("calls").split(separator: "\n")
        let signers = Set(calls.filter { $0.contains(" C_Sign CKR_OK") }.compactMap { $0.split(separator: " ").first })
        #expect(signers.count > rounds)
    }
}

/// A web server with its key in the module; each page is the number of the worker that serves it, and the version of TLS.
private final class NginxServer {
    let key: ServerKey
    let service: ConsumerService
    private let port: Int

    init(_ key: ServerKey, workers: Int) throws {
        let card = key.card
        let environment = key.variables.merging([
            "OPENSSL_CONF": try card.folder.write("openssl.cnf", Self.engine), "TOKENKIT_DEBUG": card.path("calls"),
        ]) { $1 }
        let variables = Array(card.environment.keys) + environment.keys
        self.key = key
        (service, port) = try card.serve(named: "nginx", environment) { port in
            let configuration = try card.folder.write(
                "nginx.conf", Self.configuration(key, port, workers: workers, variables))
            return ["nginx", "-p", card.folder.path, "-c", configuration, "-e", "stderr"]
        }
    }

    /// The command that gets a page.
    func get(version: String = "1.3") -> [String] {
        [
            "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", key.authority, "--resolve",
            "localhost:\(port):127.0.0.1", "--tls-max", version, "https://localhost:\(port)/",
        ]
    }

    /// The worker that serves now; nil while none does.
    var worker: pid_t? {
        guard let page = try? key.card.run(get()), page.status == 0 else { return nil }
        return page.text.split(separator: " ").first.flatMap { pid_t($0) }
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
        init = 1

        """

    private static func configuration(
        _ key: ServerKey, _ port: Int, workers: Int, _ variables: [String]
    ) -> String {
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        return """
            worker_processes \(workers);
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
                    ssl_certificate \(key.certificate);
                    ssl_certificate_key "engine:pkcs11:\(key.uri)";
                    location / { return 200 "$pid $ssl_protocol"; }
                }
            }

            """
    }
}
