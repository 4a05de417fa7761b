import Foundation
import TestSupport
import Testing
import VirtualCard

/// A card in the profile of a YubiKey 5, which Yubico's `yubico-piv-tool` and `ykman`, old and new, administer.
struct YubicoCard {
    let card: ClientCard

    private static let reader = "Yubico YubiKey OTP+FIDO+CCID"

    /// The tools and the module look only at readers whose name starts with "Yubico".
    init(_ profile: CardProfile = .yubiKey54) throws {
        card = try ClientCard(profile, reader: Self.reader)
    }

    /// Runs an action that has to succeed.
    @discardableResult
    func tool(_ action: String, _ options: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try card.succeed(["yubico-piv-tool", "-a", action] + options, at: location)
    }

    /// Runs a command of `ykman piv` 4, which has to succeed. It takes the reader by its whole name, since vpcd has a second one.
    @discardableResult
    func ykman(_ command: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try card.succeed(["ykman", "--reader", "\(Self.reader) 00 00", "piv"] + command, at: location)
    }

    /// The same by `ykman` 5, which `Scripts/prerequisites` gets from PyPI.
    @discardableResult
    func ykman5(_ command: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        let program = ConsumerHome.python + "/bin/ykman"
        return try card.succeed([program, "--reader", "\(Self.reader) 00 00", "piv"] + command, at: location)
    }

    /// Runs an action after the PIN was verified.
    func verified(
        _ action: String, _ options: String..., at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        try card.succeed(
            ["yubico-piv-tool", "-a", "verify-pin", "-P", "123456", "-a", action] + options, at: location)
    }

    /// Runs an action that has to fail.
    @discardableResult
    func fails(_ action: String, _ options: String..., at location: SourceLocation = #_sourceLocation) throws -> String
    {
        try card.fail(["yubico-piv-tool", "-a", action] + options, at: location)
    }

    /// Generates a key, stores a certificate for it, and returns the certificate's file.
    @discardableResult
    func generate(_ slot: String, _ algorithm: String) throws -> String {
        let publicKey = card.folder.path("\(slot).pub")
        try tool("generate", "-s", slot, "-A", algorithm, "-o", publicKey)
        let certificate = try card.certificate(for: publicKey, named: "Key \(slot)")
        try tool("import-certificate", "-s", slot, "-i", certificate)
        return certificate
    }

    /// A digest as long as the curve: the tool does not pad a shorter one, which the card refuses.
    func digest(for algorithm: String) -> String { algorithm == "ECCP384" ? "SHA384" : "SHA256" }

    func blockPIN() throws {
        for _ in 0..<3 { try fails("verify-pin", "-P", "000000") }
    }
}
