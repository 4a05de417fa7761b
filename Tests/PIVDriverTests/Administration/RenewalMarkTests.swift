import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// The mark that a card keeps of a renewal which is under way.
@Suite struct RenewalMarkTests {
    private let renewal = KeyRenewal(of: "9A", for: "Jö")

    @Test func itIsReadAsItIsWritten() {
        let mark = RenewalMark(.authentication, "Jö")
        let object = CertificateObject.encoded([], isCompressed: false, mark)
        #expect(RenewalMark(content: object) == mark)
        #expect(RenewalMark(content: CertificateObject.encoded([0x30], isCompressed: false)) == nil)
        for hex in ["C000", "C001FF", "C0029AFF", "C0059A4A"] { #expect(RenewalMark(content: .init(hex: hex)) == nil) }
    }

    @Test func anObjectWithAMarkAloneHasNoCertificate() throws {
        let object = CertificateObject.encoded([], isCompressed: false, RenewalMark(.authentication, "Jo"))
        #expect(try CertificateObject.parse(object) == nil)
    }

    private func desk() throws -> Desk {
        try Desk(IssuedCard(profile: .yubiKey57, keys: [:], keyHistory: nil, guid: nil))
    }

    private func mark(_ slot: String, _ desk: Desk) throws -> RenewalMark? {
        let container = try #require(PIVSlot(TokenObjectID(slot))?.container)
        return try desk.content(of: container.name).flatMap { RenewalMark(content: $0) }
    }

    private func renew(in place: TokenObjectID, _ desk: Desk) throws {
        try desk.administer(
            .renewKey(renewal, in: place, .ecP256, KeyPolicies(), replacing: .ordinary, allowsWeak: true))
    }

    @Test func itStaysUntilTheKeyIsInItsPlace() throws {
        let desk = try desk()
        _ = try desk.issue("9A")
        try renew(in: "82", desk)
        #expect(try mark("82", desk) == RenewalMark(.authentication, "Jö"))
        #expect(try desk.object("82")?.key != nil)
        let key = try PublicKey(spki: #require(desk.object("82")?.key).publicKey)
        let certificate = try CertificateBuilder(
            commonName: "Jö", publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000
        ).selfSigned(by: PrivateKey.generate(.ecP256))
        try desk.administer(.setRenewedCertificate(renewal, in: "82", certificate.der))
        #expect(try mark("82", desk) != nil)
        #expect(try desk.object("82")?.certificate == certificate.der)
        try desk.administer(.deleteKey("9A", replacing: .any))
        try desk.administer(.moveKey("82", to: "9A"))
        #expect(try mark("82", desk) == nil)
        #expect(try mark("9A", desk) == nil)
        #expect(try desk.object("9A")?.certificate == certificate.der)
    }

    @Test func itTakesThePlaceOfTheCertificate() throws {
        let desk = try desk()
        _ = try desk.issue("9A")
        try renew(in: "9A", desk)
        #expect(try mark("9A", desk) == RenewalMark(.authentication, "Jö"))
        #expect(try desk.object("9A")?.certificate == nil)
    }

    @Test func anotherKeyEndsTheRenewal() throws {
        let key = SharedSecret(try PrivateKey.generate(.ecP256).pkcs8())
        let changes: [TokenChange] = [
            .generateKey("9A", .ecP256, KeyPolicies(), replacing: .ordinary, allowsWeak: true),
            .importKey("9A", key, KeyPolicies(), replacing: .ordinary), .deleteKey("9A", replacing: .ordinary),
        ]
        for change in changes {
            let desk = try desk()
            _ = try desk.issue("9A")
            try renew(in: "9A", desk)
            try desk.administer(change)
            #expect(try mark("9A", desk) == nil)
        }
    }
}
