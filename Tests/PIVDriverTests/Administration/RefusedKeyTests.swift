import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

/// A key that the card refuses: the former one stays, and with it what its certificate says.
@Suite struct RefusedKeyTests {
    @Test(arguments: [CardProfile.yubiKey54, .yubiKey43, .generic, .canoKey])
    func theFormerCertificateStays(_ profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile, keys: [:], keyHistory: nil))
        let certificate = try desk.issue("9D", .keyAgreement)
        #expect(throws: TokenError.self) {
            try desk.administer(.generateKey("9D", .other("SM2"), KeyPolicies(), replacing: .any, allowsWeak: true))
        }
        #expect(throws: TokenError.self) {
            try desk.administer(
                .renewKey(
                    KeyRenewal(of: "9D", for: "9D"), in: "9D", .rsa(bits: 4096), KeyPolicies(), replacing: .any,
                    allowsWeak: true))
        }
        #expect(try desk.object("9D")?.certificate == certificate)
        // The key is guarded as before.
        let error = try #require(throws: TokenError.self) {
            try desk.administer(.generateKey("9D", .ecP256, KeyPolicies(), replacing: .ordinary, allowsWeak: true))
        }
        #expect(error.code == .invalidArgument)
    }

    @Test func anImportThatTheCardDoesNotHaveChangesNothing() throws {
        let desk = try Desk(IssuedCard(profile: .generic, keys: [:], keyHistory: nil))
        let certificate = try desk.issue("9D")
        let key = SharedSecret(try PrivateKey.generate(.ecP256).pkcs8())
        #expect(throws: TokenError.self) {
            try desk.administer(.importKey("9D", key, KeyPolicies(), replacing: .any))
        }
        #expect(try desk.object("9D")?.certificate == certificate)
    }
}
