import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import TokenKit

@testable import VirtualCard

/// Virtual cards as an issuer hands them out: with keys, certificates, a CHUID and what else a test needs.
struct IssuedCard {
    var profile = CardProfile.generic

    /// Each key with its algorithm.
    var keys: [CardKeyReference: CardAlgorithm] = [
        .authentication: .p256, .signature: .p256, .keyManagement: .p256, .cardAuthentication: .p256,
    ]
    var pinPolicies: [CardKeyReference: CardKey.PINPolicy] = [:]
    var touchPolicies: [CardKeyReference: CardKey.TouchPolicy] = [:]

    /// Keys that have no certificate on the card.
    var withoutCertificate: Set<CardKeyReference> = []

    /// The number of retired keys in the Key History; nil for no such object.
    var keyHistory: Int? = 0
    var guid: String? = "7B13D0E61F6E478EA0AABE0F9AD64A6C"

    /// The length of the CHUID's signature, in bytes.
    var signatureLength = 2062

    /// Objects by tag: the content, without tag `53`. Nil takes an object away.
    var objects: [TLVTag: [UInt8]?] = [:]
    var pinTries: UInt8?

    func make() throws -> VirtualCard {
        var contents = try CardContents.manufactured(profile, serialNumber: 7_654_321)
        for (reference, algorithm) in keys {
            let pair = try KeyPair.named(algorithm, reference)
            contents.keys[reference] = CardKey(
                pair.privateKey, algorithm: algorithm, pinPolicy: pinPolicies[reference] ?? .standard(for: reference),
                touchPolicy: touchPolicies[reference] ?? .never, origin: .generated)
            guard !withoutCertificate.contains(reference), let tag = DataObject.certificate(of: reference) else {
                continue
            }
            contents.objects[tag] = DataObject.certificate(pair.certificate)
        }
        if let guid {
            contents.objects[DataObject.cardholderIdentifier] =
                TLV(0x30, .init(hex: "d13810d828ab6c10c339e5a1685a08c92ade0a6184e739c3e7")).encoded()
                + TLV(0x34, .init(hex: guid)).encoded() + TLV(0x35, Array("20321202".utf8)).encoded()
                + TLV(0x3E, Array(repeating: 0xAA, count: signatureLength)).encoded() + TLV(0xFE, [UInt8]()).encoded()
        }
        if let keyHistory {
            contents.objects[DataObject.keyHistory] = .init(
                hex: "C101" + Hex.encode([UInt8(keyHistory)]) + "C20100FE00")
        }
        for (tag, content) in objects { contents.objects[tag] = content }
        if let pinTries { contents.references[profile.pinReference]?.remaining = pinTries }
        return VirtualCard(profile: profile, contents: contents, clock: SimulatedClock())
    }

    /// The public key of a slot on any card made here.
    static func publicKey(_ reference: CardKeyReference, _ algorithm: CardAlgorithm) throws -> PublicKey {
        try KeyPair.named(algorithm, reference).privateKey.publicKey
    }
}

extension VirtualCard {
    /// The tries left for the PIN, from the card's state and without a command.
    var triesLeft: Int { contents.references[profile.pinReference].map { Int($0.remaining) } ?? 0 }

    var unblockingTriesLeft: Int { contents.references[.unblocking].map { Int($0.remaining) } ?? 0 }
}

/// A key and its certificate, made once for all tests, because RSA keys take long.
struct KeyPair: Sendable {
    let privateKey: PrivateKey
    let certificate: [UInt8]

    private static let made = Mutex<[String: KeyPair]>([:])

    static func named(_ algorithm: CardAlgorithm, _ reference: CardKeyReference) throws -> KeyPair {
        let name = "\(algorithm) \(reference)"
        return try made.withLock { made in
            if let known = made[name] { return known }
            let pair = try make(algorithm, name)
            made[name] = pair
            return pair
        }
    }

    private static let issuer = Result { try PrivateKey.generate(.ecP256) }

    private static func make(_ algorithm: CardAlgorithm, _ name: String) throws -> KeyPair {
        let privateKey = try PrivateKey.generate(algorithm.kind)
        let builder = try CertificateBuilder(
            commonName: name, publicKey: privateKey.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        // An X25519 key cannot sign its own certificate.
        let certificate = try builder.selfSigned(by: issuer.get())
        return KeyPair(privateKey: privateKey, certificate: certificate.der)
    }
}
