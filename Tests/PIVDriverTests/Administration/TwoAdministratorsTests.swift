import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

/// Two programs that administer one card at the same time.
@Suite struct TwoAdministratorsTests {
    private static let profiles: [CardProfile] = [.yubiKey57, .yubiKey43, .canoKey]

    @Test(arguments: profiles) func eachFillsItsSlot(_ profile: CardProfile) async throws {
        let (first, second) = try Self.desks(profile)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (desk, slot) in [(first, "9A"), (second, "9D")] {
                group.addTask {
                    for round in 0..<8 {
                        let key = try PrivateKey.generate(.ecP256)
                        try desk.load(key, "\(slot) \(round)", into: TokenObjectID(slot), replacing: .any)
                        let object = try desk.object(slot)
                        #expect(object?.key?.publicKey == key.publicKey.spki)
                        #expect(try Certificate(der: #require(object?.certificate)).commonName == "\(slot) \(round)")
                    }
                }
            }
            try await group.waitForAll()
        }
        try first.expectMatchingCertificates("\(profile)")
        #expect(Set(first.card.contents.keys.keys).isSuperset(of: [.authentication, .keyManagement]))
    }

    /// A slot that was empty when both began is filled by one of them, and the other loses nothing of the first one's.
    @Test(arguments: [CardProfile.yubiKey57, .canoKey]) func oneOfThemGetsAnEmptySlot(_ profile: CardProfile)
        async throws
    {
        for _ in 0..<8 {
            let (first, second) = try Self.desks(profile)
            let keys = [try PrivateKey.generate(.ecP256), try PrivateKey.generate(.ecP256)]
            let winners = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                for (desk, key) in zip([first, second], keys) {
                    group.addTask {
                        let secret = SharedSecret(try key.pkcs8())
                        do throws(TokenError) {
                            try desk.administer(
                                .importKey("9A", secret, KeyPolicies(), replacing: .none))
                            return key.publicKey.spki
                        } catch {
                            #expect(error.code == .invalidArgument)
                            return nil
                        }
                    }
                }
                return try await group.reduce(into: [[UInt8]]()) { if let key = $1 { $0.append(key) } }
            }
            #expect(winners.count == 1)
            #expect(try first.object("9A")?.key?.publicKey == winners.first)
        }
    }

    /// The card always gives a management key that counts to whoever has the PIN.
    @Test(arguments: [CardProfile.yubiKey57, .yubiKey43]) func bothChangeTheKeptManagementKey(
        _ profile: CardProfile
    ) async throws {
        let (first, second) = try Self.desks(profile)
        let cipher = try #require(first.managementKey().ciphers.first)
        let change = TokenChange.setManagementKey(
            NewManagementKey(cipher, nil, touch: .never, isKeptOnToken: true))
        try first.administer(change, by: .both("123456"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for desk in [first, second] {
                group.addTask { for _ in 0..<8 { try desk.administer(change, by: .kept("123456")) } }
            }
            try await group.waitForAll()
        }
        try first.anotherProgram().administer(.setData("security-object", [1]), by: .kept("123456"))
        #expect(first.card.triesLeft == 3)
    }

    private static func desks(_ profile: CardProfile) throws -> (Desk, Desk) {
        let desk = try Desk(IssuedCard(profile: profile, keys: [:], keyHistory: nil))
        return (desk, desk.anotherProgram())
    }
}

extension Desk {
    fileprivate func load(
        _ key: PrivateKey, _ name: String, into slot: TokenObjectID, replacing: KeyReplacement
    ) throws {
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.keyUsage = .digitalSignature
        try administer(.importKey(slot, SharedSecret(key.pkcs8()), KeyPolicies(), replacing: replacing))
        try administer(.setCertificate(slot, builder.selfSigned(by: key).der))
    }
}
