import Foundation
import SecItem

/// Measures searches of a running program by `SecItemCopyMatching`: among passwords of its own keychain, over the socket of its own host.
///
///     SecItemBenchmark [ROUNDS [NAME]]
///
/// The user's folders, which the environment names, have to be empty. Times are medians of ROUNDS (500), and a tenth of them for searches
/// for everything. NAME is the only search to measure, for a profile of it.
@main enum SecItemBenchmark {
    private static let itemCount = 500

    static func main() {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 500
        let password = "benchmark"
        var keychain: SecKeychain?
        check(
            SecKeychainCreate("login", UInt32(password.utf8.count), password, false, nil, &keychain),
            "the keychain")
        for number in 0..<itemCount {
            let item: [String: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: "service \(number)", kSecAttrAccount: "jo",
                kSecValueData: Data("secret \(number)".utf8),
            ]
            check(SecItemAdd(item as CFDictionary, nil), "an item")
        }
        print("\nSecItemCopyMatching in a running program, of \(itemCount) passwords")
        let all: [String: Any] = [kSecMatchLimit: kSecMatchLimitAll]
        measure("one, attributes", rounds, [kSecAttrService: "service 250", kSecReturnAttributes: true])
        measure(
            "one, attributes and data", rounds,
            [kSecAttrService: "service 250", kSecReturnAttributes: true, kSecReturnData: true])
        measure("all, attributes", rounds / 10, all.merging([kSecReturnAttributes: true]) { $1 })
        measure(
            "all, attributes and data", rounds / 10,
            all.merging([kSecReturnAttributes: true, kSecReturnData: true]) { $1 })
        measure("none", rounds, [kSecAttrService: "nothing"], errSecItemNotFound)
    }

    private static func measure(
        _ name: String, _ rounds: Int, _ attributes: [String: Any], _ expected: OSStatus = errSecSuccess
    ) {
        guard CommandLine.arguments.dropFirst(2).allSatisfy({ $0 == name }) else { return }
        let query = attributes.merging([kSecClass: kSecClassGenericPassword]) { $1 } as CFDictionary
        var times: [Double] = []
        for _ in 0..<max(rounds, 1) {
            var result: CFTypeRef?
            let start = DispatchTime.now().uptimeNanoseconds
            let status = SecItemCopyMatching(query, &result)
            times.append(Double(DispatchTime.now().uptimeNanoseconds - start) / 1000)
            check(status, name, expected)
        }
        times.sort()
        let padded = name.padding(toLength: 34, withPad: " ", startingAt: 0)
        print(padded, String(format: "%9.1f us", times[times.count / 2]))
    }

    private static func check(_ status: OSStatus, _ what: String, _ expected: OSStatus = errSecSuccess) {
        guard status != expected else { return }
        print("SecItemBenchmark: \(what): \(SecCopyErrorMessageString(status, nil) ?? "") (\(status))")
        exit(1)
    }
}
