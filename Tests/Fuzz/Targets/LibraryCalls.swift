internal import Foundation
internal import HostAPI
internal import KeychainBridge
internal import KeychainHost
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Wire

/// The calls of one program with the C library, as its host answers them, with an unlocked keychain that has a password.
///
/// An input has for each call the length of its fields (two bytes), that of its secrets (one byte), the fields, and the secrets. Every path
/// stands for the keychain, and that of a new one for a file beside it.
struct LibraryCalls {
    private let calls: [(call: KeychainCall, secrets: [UInt8])]

    /// The calls at the beginning of an input that can be read.
    init(parsing input: [UInt8]) {
        var (calls, rest) = ([(call: KeychainCall, secrets: [UInt8])](), input[...])
        while calls.count < 32, rest.count >= 3 {
            let counts = Array(rest.prefix(3))
            let (fields, secrets) = (Int(counts[0]) << 8 | Int(counts[1]), Int(counts[2]))
            rest = rest.dropFirst(3)
            guard fields + secrets <= rest.count, let call = try? KeychainCall(parsing: Array(rest.prefix(fields)))
            else { break }
            calls.append((call, Array(rest.dropFirst(fields).prefix(secrets))))
            rest = rest.dropFirst(fields + secrets)
        }
        self.calls = calls
    }

    /// The answers, each of which the library can read.
    ///
    /// - Returns: a description of an answer that it cannot read; nil where there is none.
    func run() throws -> String? {
        guard !calls.isEmpty else { return nil }
        let folder = FileManager.default.temporaryDirectory.appending(path: "tokenkit-library-\(UUID().uuidString)")
        let home = folder.path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        let preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc") { ["HOME": home, "XDG_RUNTIME_DIR": home + "/run"][$0] })
        let process = ProcessKeychains(preferences, readers: { [] })
        _ = try preferences.create(
            "login", password: Secret(copying: Array(BridgeCalls.pin.utf8).span), cost: ScryptCost(n: 2, r: 1, p: 1))
        let bridge = KeychainBridge(Host(process, prompter: NoPrompter()), wantsNotes: true)
        defer { bridge.end() }
        for (call, secrets) in calls {
            var call = call
            let path = call.function == .create || call.function == .path ? home + "/made.keychain" : "login"
            if call.keychain != nil { call.keychain = Array(path.utf8) }
            if call.target != nil { call.target = Array("login".utf8) }
            let result = bridge.result(of: call, secrets: Secret(copying: secrets.span))
            guard let read = try? KeychainAnswer(parsing: result.answer.encoded()), read == result.answer else {
                return "\(call)"
            }
            if result.answer.code != 0, result.secrets.count > 0 { return "\(call)" }
        }
        return nil
    }
}
