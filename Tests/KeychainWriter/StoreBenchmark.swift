import Glibc
import KeychainHost
import KeychainModel
import SecureBytes

/// Rows per second of a keychain, against plain SQLite writing rows of the same columns, indexes and sizes, each row in a
/// transaction of its own and as durable.
///
/// Both write by turns, so that other load on the disk affects both alike.
struct StoreBenchmark {
    let folder: String
    let rows: Int

    /// The number of rows in one turn.
    private static let turn = 25

    func run() throws {
        let keychain = try makeKeychain()
        let plain = try PlainStore(path: "\(folder)/plain")
        var (keychainTime, plainTime) = (Duration.zero, Duration.zero)
        let clock = ContinuousClock()
        for start in stride(from: 0, to: rows, by: Self.turn) {
            let turn = start..<min(start + Self.turn, rows)
            plainTime += try clock.measure { for number in turn { try plain.add(account: "account \(number)") } }
            keychainTime += try clock.measure { for number in turn { try add(number, to: keychain) } }
        }
        print("plain sqlite3   \(rate(plainTime)) rows/s")
        print("local keychain  \(rate(keychainTime)) rows/s")
    }

    private func makeKeychain() throws -> LocalKeychain {
        var password = Array("benchmark".utf8)
        return try LocalKeychain.create(
            at: "\(folder)/keychain", password: Secret(consuming: &password), cost: .negligible)
    }

    private func add(_ number: Int, to keychain: LocalKeychain) throws {
        var secret = [UInt8](repeating: 0x61, count: 32)
        let attributes: Attributes = [
            .account: .string("account \(number)"), .service: "benchmark", .label: "benchmark",
        ]
        try keychain.add(.genericPassword(attributes, secret: Secret(consuming: &secret)))
    }

    private func rate(_ duration: Duration) -> Int {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        return Int(Double(rows) / max(seconds, 1e-9))
    }
}
