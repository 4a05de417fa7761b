import Foundation
import SystemCrypto
import TestSupport
import Testing

/// stunnel has its key in the module. It loads the key, becomes a daemon by `fork`, and signs in threads with stacks of 64 KiB.
@Suite struct StunnelTests {
    @Test(arguments: ConsumerToken.allCases, [KeyKind.rsa(bits: 2048), .ecP256])
    func aDaemonServesEveryConnection(token: ConsumerToken, kind: KeyKind) throws {
        let key = try ServerKey(token, kind)
        let card = key.card
        let log = card.path("calls")
        let (daemon, port) = try StunnelDaemon.start(key, ["TOKENKIT_DEBUG": log])
        let client = [
            "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-quiet", "-servername", "localhost", "-CAfile",
            key.authority, "-verify_return_error",
        ]
        let results = Results()
        let group = DispatchGroup()
        for connection in 0..<4 {
            group.enter()
            Thread {
                for _ in 0..<5 {
                    results.add(try? card.run(client + [connection % 2 == 0 ? "-tls1_2" : "-tls1_3"]))
                }
                group.leave()
            }.start()
        }
        group.wait()
        let served = results.all
        #expect(served.count == 20)
        for result in served { #expect(result.status == 0 && result.text == "served\n", "\(result)") }
        #expect(daemon.isRunning)
        // The daemon signs, rather than the process that loaded the key.
        let signatures = try card.text("calls").split(separator: "\n").filter { $0.contains(" C_Sign CKR_OK") }
        #expect(signatures.count == 20)
        #expect(signatures.allSatisfy { $0.hasPrefix("tokenkit-pkcs11[\(daemon.identifier)]") })
    }
}

/// The results of several threads.
private final class Results: @unchecked Sendable {
    private let lock = NSLock()
    private var results: [ProgramResult] = []

    func add(_ result: ProgramResult?) { lock.withLock { results += result.map { [$0] } ?? [] } }

    var all: [ProgramResult] { lock.withLock { results } }
}

/// A stunnel that has become a daemon; it is ended with the last reference to it.
private final class StunnelDaemon {
    let identifier: pid_t

    /// Starts stunnel on an unused port.
    static func start(_ key: ServerKey, _ variables: [String: String]) throws -> (StunnelDaemon, port: Int) {
        let card = key.card
        var attempts = 3
        while true {
            let port = try Loopback.unusedPort()
            let result = try card.run(
                ["stunnel4", card.folder.write("stunnel.conf", configuration(key, port))],
                key.variables.merging(variables) { $1 })
            if result.status == 0 {
                // The daemon itself writes its number to the file.
                #expect(
                    eventually { (try? card.text("stunnel.pid").hasSuffix("\n")) == true && Loopback.accepts(port) })
                let line = try card.text("stunnel.pid").trimmingCharacters(in: .whitespacesAndNewlines)
                return (StunnelDaemon(try #require(pid_t(line))), port)
            }
            attempts -= 1
            try #require(attempts > 0 && "\(result)".contains("Address already in use"), "\(result)")
        }
    }

    private init(_ identifier: pid_t) {
        self.identifier = identifier
    }

    deinit {
        kill(identifier, SIGTERM)
        eventually(within: 5) { !isRunning }
        kill(identifier, SIGKILL)
    }

    var isRunning: Bool { kill(identifier, 0) == 0 }

    private static func configuration(_ key: ServerKey, _ port: Int) -> String {
        """
        foreground = no
        pid = \(key.card.path("stunnel.pid"))
        output = \(key.card.path("stunnel.log"))
        engine = pkcs11
        engineCtrl = MODULE_PATH:\(ConsumerCard.module)
        [served]
        accept = 127.0.0.1:\(port)
        cert = \(key.certificate)
        engineId = pkcs11
        key = \(key.uri)
        exec = /bin/echo
        execArgs = echo served

        """
    }
}
