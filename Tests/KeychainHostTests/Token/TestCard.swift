import HostAPI
import KeychainModel
import Localization
import PIVDriver
import SecureBytes
import Synchronization
import SystemCrypto
import TestSupport
import TokenKit

@testable import KeychainHost
@testable import VirtualCard

/// A key and its certificate, made once for all tests, because RSA keys take long.
struct TestKey: Sendable {
    let privateKey: PrivateKey
    let certificate: Certificate

    var publicKey: PublicKey { privateKey.publicKey }

    private static let made = Mutex<[String: TestKey]>([:])
    private static let issuer = Result { try PrivateKey.generate(.ecP256) }

    static func named(_ name: String, _ kind: KeyKind = .ecP256) throws -> TestKey {
        try made.withLock { made in
            if let known = made["\(name) \(kind)"] { return known }
            let key = try PrivateKey.generate(kind)
            let pair = TestKey(privateKey: key, certificate: try certificate(of: key.publicKey, "\(name) holder"))
            made["\(name) \(kind)"] = pair
            return pair
        }
    }

    /// Another certificate of a key.
    static func certificate(
        of key: PublicKey, _ commonName: String,
        usage: KeyUsage = [.digitalSignature, .keyEncipherment, .keyAgreement]
    ) throws -> Certificate {
        var builder = try CertificateBuilder(
            commonName: commonName, publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.keyUsage = usage
        return try builder.selfSigned(by: issuer.get())
    }
}

/// A virtual card as a test needs it. Its PIN is 123456, its unblocking key 12345678.
struct TestCard {
    var profile = CardProfile.generic
    var algorithm = CardAlgorithm.p256
    var slots: [CardKeyReference] = [.authentication, .signature, .keyManagement, .cardAuthentication]

    /// Slots whose key has no certificate on the card.
    var withoutCertificate: Set<CardKeyReference> = []

    /// Certificates in place of the key's own.
    var certificates: [CardKeyReference: [UInt8]] = [:]
    var guid = "7B13D0E61F6E478EA0AABE0F9AD64A6C"

    /// The name of the card's keys: cards with different names have different keys.
    var name = "card"
    var touchPolicy = CardKey.TouchPolicy.never
    var pinTries: UInt8?
    var unblockingTries: UInt8?

    func make() throws -> VirtualCard {
        var contents = try CardContents.manufactured(profile, serialNumber: 7_654_321)
        for slot in slots {
            let pair = try key(slot)
            contents.keys[slot] = CardKey(
                pair.privateKey, algorithm: algorithm, pinPolicy: .standard(for: slot), touchPolicy: touchPolicy,
                origin: .generated)
            guard !withoutCertificate.contains(slot), let tag = DataObject.certificate(of: slot) else { continue }
            contents.objects[tag] = DataObject.certificate(certificates[slot] ?? pair.certificate.der)
        }
        contents.objects[DataObject.cardholderIdentifier] =
            TLV(0x34, Hex.decode(guid) ?? []).encoded() + TLV(0x3E, [UInt8]()).encoded()
            + TLV(0xFE, [UInt8]()).encoded()
        if let pinTries { contents.references[profile.pinReference]?.remaining = pinTries }
        if let unblockingTries { contents.references[.unblocking]?.remaining = unblockingTries }
        return VirtualCard(profile: profile, contents: contents)
    }

    func key(_ slot: CardKeyReference) throws -> TestKey { try .named("\(name) \(slot)", algorithm.kind) }
}

extension VirtualCard {
    /// The tries left for the PIN, from the card's state and without a command.
    var triesLeft: Int { contents.references[profile.pinReference].map { Int($0.remaining) } ?? 0 }
}

/// A reader on a desk with a card in it, as a keychain.
struct Desk {
    let reader: VirtualReader
    let slot: TokenSlot

    init(_ card: TestCard = TestCard(), reader name: String = "Desk Reader") throws {
        self.init(VirtualReader(name: name, card: try card.make()))
    }

    init(_ reader: VirtualReader) {
        self.reader = reader
        slot = TokenSlot(reader: reader, drivers: [PIVDriver()])
    }

    var token: TokenKeychain { TokenKeychain(slot) }

    func key(_ name: String) throws -> any KeychainKey {
        guard let key = try token.keys(.name(name)).first else { throw KeychainError(.itemNotFound, "\(name)") }
        return key
    }

    func items(_ itemClass: ItemClass, _ attributes: Attributes = [:]) throws -> [Item] {
        try token.items(matching: Query(itemClass, attributes, limit: .all)).found
    }

    // MARK: What was sent

    /// Commands without the continuations of others, by their `INS`.
    var commands: [UInt8] { reader.log.filter { !$0.isContinuation }.map(\.ins) }

    /// VERIFY without data.
    var statusQueries: Int { reader.log.count { $0.ins == 0x20 && $0.p1 == 0 && $0.dataCount == 0 } }

    /// Commands that had a PIN in them.
    var pinsSent: Int { reader.log.count { [0x20, 0x24, 0x2C].contains($0.ins) && $0.dataCount > 0 } }

    /// Uses of private keys.
    var keyUses: Int { commands.count { $0 == 0x87 } }
}

extension KeychainKey {
    /// Signs a digest without a meaning.
    func sign(_ context: AuthenticationContext, _ digest: [UInt8] = [UInt8](repeating: 0x5A, count: 32)) throws
        -> [UInt8]
    {
        try perform(.sign(.ecdsa(nil), digest), use: "sign it", authentication: context).copiedBytes
    }
}

extension AuthenticationContext {
    /// The context with the same credentials and presence, without questions.
    func withoutQuestions() -> AuthenticationContext {
        asking(NoPrompter(alternative: prompter.alternative), lastTry: lastTry)
    }

    /// A person who types the PIN of a ``TestCard``.
    static var owner: AuthenticationContext { AuthenticationContext(prompter: TypesInTurn("123456")) }
    static var nobody: AuthenticationContext { AuthenticationContext() }
}
