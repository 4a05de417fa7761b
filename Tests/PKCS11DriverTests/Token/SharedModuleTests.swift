import PKCS11Driver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

/// A module whose tokens several clients share, as those of the session's host do.
@Suite struct SharedModuleTests {
    private let files: ForeignModule
    private let first: PKCS11Module

    init() throws {
        files = try ForeignModule(softHSM: [
            ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "one"],
            ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "02", "--label", "two", "--always-auth"],
        ])
        first = files.loaded()
    }

    private static let pin = "123456"

    private func slot(_ module: PKCS11Module) throws -> any TokenBackend { try #require(module.tokens().first).slot }

    private func verify(_ pin: String, _ slot: any TokenBackend) throws {
        try slot.verify(PIN(Secret(copying: Array(pin.utf8).span)), lastTry: .keep, at: slot.insertion())
    }

    private func sign(_ slot: any TokenBackend, key: String = "01", isPermitted: Bool = false) throws {
        let digest = [UInt8](repeating: 0x5A, count: 32)
        var operation = TokenOperation(key: TokenObjectID(key), action: .sign(.ecdsa(nil), digest))
        operation.isPermitted = isPermitted
        _ = try slot.perform(operation, at: slot.insertion(), notice: nil)
    }

    private func code(_ body: () throws -> Void) -> TokenError.Code? {
        do { try body() } catch let error as TokenError { return error.code } catch { return .malformed }
        return nil
    }

    @Test func aPINOfAnotherClientIsUsedByPermissionAlone() throws {
        let (giver, other) = (try slot(PKCS11Module(sharing: first)), try slot(PKCS11Module(sharing: first)))
        #expect(code { try sign(giver) } == .pinRequired)
        #expect(code { try sign(giver, isPermitted: true) } == .pinRequired)
        try verify(Self.pin, giver)
        try sign(giver)
        #expect(try other.isPINPresented())
        #expect(code { try sign(other) } == .permissionRequired)
        try sign(other, isPermitted: true)
        #expect(code { try sign(other) } == .permissionRequired, "a permission is for one operation")
        // Who gives it needs none.
        try verify(Self.pin, other)
        try sign(other)
        #expect(code { try sign(giver, key: "02") } == .pinRequired, "a key that wants the PIN each time")
        first.forgetPINs()
        #expect(code { try sign(other) } == .pinRequired)
        try verify(Self.pin, giver)
        #expect(code { try sign(other) } == .permissionRequired, "the earlier gift ended with its login")
    }

    @Test func theLoginOutlastsItsClient() throws {
        do {
            let slot = try slot(PKCS11Module(sharing: first))
            try verify(Self.pin, slot)
            slot.disconnect(resetting: false)
        }
        #expect(code { try sign(slot(PKCS11Module(sharing: first))) } == .permissionRequired)
    }

    /// Modules take any PIN while the user is logged in, so that a program could pass for one that knows it.
    @Test func aPINIsCheckedAlsoDuringALogin() throws {
        let (giver, other) = (try slot(PKCS11Module(sharing: first)), try slot(PKCS11Module(sharing: first)))
        try verify(Self.pin, giver)
        #expect(code { try verify("654321", other) } == .pinIncorrect)
        #expect(code { try sign(other) } == .pinRequired)
        #expect(code { try sign(giver) } == .pinRequired)
    }

    @Test func aRefusedPINIsNotSentAgainAfterTheModulesEnd() throws {
        #expect(code { try verify("654321", slot(first)) } == .pinIncorrect)
        first.end()
        #expect(code { _ = try first.tokens() } == .card(.removed))
        let next = first.renewed()
        #expect(code { try verify("654321", slot(next)) } == .pinKnownIncorrect)
        try verify(Self.pin, slot(next))
        try sign(slot(next))
    }
}
