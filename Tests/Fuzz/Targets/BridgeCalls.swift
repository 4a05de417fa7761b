internal import Foundation
internal import KeychainHost
internal import KeychainModel
internal import PIVDriver
internal import PKCS11Bridge
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import VirtualCard
internal import Wire

/// The calls of one client, as its host answers them, with a card and a keychain.
///
/// An input has for each call the length of its fields (two bytes), that of its secrets (one byte), the fields, and the secrets. In
/// place of a slot's id, 0 stands for the card's and 1 for the keychain's.
struct BridgeCalls {
    /// The PIN of the card, and the password of the keychain.
    package static let pin = "123456"

    private let calls: [(call: PKCS11Call, secrets: [UInt8])]

    /// The calls at the beginning of an input that can be read.
    init(parsing input: [UInt8]) {
        var (calls, rest) = ([(call: PKCS11Call, secrets: [UInt8])](), input[...])
        while calls.count < 32, rest.count >= 3 {
            let counts = Array(rest.prefix(3))
            let (fields, secrets) = (Int(counts[0]) << 8 | Int(counts[1]), Int(counts[2]))
            rest = rest.dropFirst(3)
            guard fields + secrets <= rest.count, let call = try? PKCS11Call(parsing: Array(rest.prefix(fields))) else {
                break
            }
            calls.append((call, Array(rest.dropFirst(fields).prefix(secrets))))
            rest = rest.dropFirst(fields + secrets)
        }
        self.calls = calls
    }

    /// The answers, each of which the client can read.
    ///
    /// - Returns: a description of an answer that it cannot read; nil where there is none.
    func run() throws -> String? {
        guard !calls.isEmpty else { return nil }
        let host = try ClientHost()
        defer { host.end() }
        for (call, secrets) in calls {
            let result = host.cryptoki.result(of: host.resolved(call), secrets: Secret(copying: secrets.span))
            guard let read = try? PKCS11Answer(parsing: result.answer.encoded()), read == result.answer else {
                return "\(call)"
            }
            guard result.answer.returnValue <= UInt64(UInt32.max) else { return "\(call)" }
        }
        return nil
    }
}

/// The host of one client.
private struct ClientHost {
    let cryptoki: Cryptoki
    private let folder: URL
    private let slots: [UInt]

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tokenkit-calls-\(UUID().uuidString)")
        let home = folder.path
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let reader = VirtualReader(card: try VirtualCardBuilder(profile: .yubiKey57, fourKeys: .p256).build())
        let preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc") { ["HOME": home, "XDG_RUNTIME_DIR": home + "/run"][$0] })
        let process = ProcessKeychains(
            preferences,
            drivers: {
                [
                    PIVDriver(
                        memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs,
                        provesBeforePIN: $0.provesBeforePIN)
                ]
            }, readers: { [reader] })
        _ = try preferences.create(
            "login", password: Secret(copying: Array(BridgeCalls.pin.utf8).span), cost: ScryptCost(n: 2, r: 1, p: 1))
        cryptoki = Cryptoki(Host(forTokensOf: process, prompter: nil, touchPrompter: nil))
        slots = cryptoki.slotList(withToken: true, refreshing: true).map { UInt($0) }
        self.folder = folder
    }

    func end() {
        cryptoki.finalize()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The call with the ids of its slots. A wait for an event does not block, since no other thread would end it.
    func resolved(_ call: PKCS11Call) -> PKCS11Call {
        var call = call
        switch call.function {
        case .waitForSlotEvent: call.numbers = [1]
        case .openSession, .closeAllSessions, .getSlotInfo, .getTokenInfo, .getMechanismList, .getMechanismInfo:
            guard let first = call.numbers.first, first < UInt64(slots.count) else { break }
            call.numbers[0] = UInt64(slots[Int(first)])
        default: break
        }
        return call
    }
}
