import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

extension TokenObjectID: ExpressibleByStringLiteral {
    public init(stringLiteral text: String) { self.init(text) }
}

extension Desk {
    static let factory: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8]

    enum Authority: Sendable {
        case factory
        case key([UInt8])
        case kept(StaticString)
        case both(StaticString)
        case keyAndPIN([UInt8], StaticString)
    }

    @discardableResult
    func administer(_ change: TokenChange, by authority: Authority = .factory) throws(TokenError) -> Outcome {
        let administrator =
            switch authority {
            case .factory: TokenAdministrator(.factory)
            case .key(let bytes): TokenAdministrator(.value(Secret(copying: bytes.span)))
            case .kept(let pin): TokenAdministrator(.onToken, PIN(pin), .keep)
            case .both(let pin): TokenAdministrator(.factory, PIN(pin), .keep)
            case .keyAndPIN(let bytes, let pin):
                TokenAdministrator(.value(Secret(copying: bytes.span)), PIN(pin), .keep)
            }
        let outcome = try slot.perform(change, by: administrator, at: slot.insertion())
        switch consume outcome {
        case .done: return Outcome()
        case .publicKey(let key): return Outcome(publicKey: key)
        case .managementKey(let key): return Outcome(managementKey: Array(copying: key.bytes))
        }
    }

    struct Outcome: Equatable {
        var publicKey: [UInt8] = []
        var managementKey: [UInt8] = []
    }

    func object(_ slot: String) throws(TokenError) -> TokenObject? {
        try inventory().objects.first { $0.id == TokenObjectID(slot) }
    }

    func managementKey() throws(TokenError) -> ManagementKeyStatus { try slot.managementKey(at: slot.insertion()) }

    /// Makes a key in a slot, and a certificate that it has signed itself.
    func issue(_ name: String, _ usage: KeyUsage = .digitalSignature) throws -> [UInt8] {
        let id = TokenObjectID(name)
        let spki = try administer(
            .generateKey(id, .ecP256, KeyPolicies(), replacing: .none, allowsWeak: true)
        ).publicKey
        let key = try PublicKey(spki: spki)
        var builder = try CertificateBuilder(
            commonName: name, publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.keyUsage = usage
        let certificate = try builder.selfSigned(by: PrivateKey.generate(.ecP256)).der
        try administer(.setCertificate(id, certificate))
        return certificate
    }
}

/// Administration of cards of every make: keys, certificates, data, and the secrets that protect them.
@Suite struct AdministrationTests {
    static let profiles = CardProfile.all.filter { $0.transport.interface == .contact && !$0.has(.noManagementKey) }
    static let yubiKeys: [CardProfile] = [.yubiKey57, .yubiKey54]

    private static func blank(_ profile: CardProfile) throws -> Desk {
        try Desk(IssuedCard(profile: profile, keys: [:], keyHistory: nil, guid: nil))
    }

    private static let digest = [UInt8](repeating: 0x5A, count: 32)

    /// What each kind of card must do: a key, a certificate for it, and a signature by it.
    @Test(arguments: profiles) func aBlankCardGetsAKeyThatSigns(_ profile: CardProfile) throws {
        let desk = try Self.blank(profile)
        try desk.administer(.identify)
        #expect(try desk.identity().isShared == false)
        let certificate = try desk.issue("9A")
        let object = try #require(try desk.object("9A"))
        #expect(object.certificate == certificate)
        let key = try PublicKey(spki: #require(object.key?.publicKey))
        guard !profile.name.contains("jc22") else { return }
        let signature = try desk.perform("9A", .sign(.ecdsa(nil), Self.digest), pin: "123456")
        #expect(try key.verify(signature, digest: Self.digest, using: .ecdsa(nil)))
    }

    @Test(arguments: profiles) func aWrongManagementKeyChangesNothing(_ profile: CardProfile) throws {
        let desk = try Self.blank(profile)
        for count in [16, 24, 32] {
            #expect(throws: TokenError(.notAuthorized, "")) {
                try desk.administer(
                    .generateKey("9A", .ecP256, KeyPolicies(), replacing: .any, allowsWeak: true),
                    by: .key([UInt8](repeating: 7, count: count)))
            }
        }
        #expect(desk.count(0x47) == 0 && desk.card.contents.keys[.authentication] == nil)
    }

    @Test func aKeyIsReplacedOnlyOnRequest() throws {
        let desk = try Self.blank(.yubiKey57)
        let certificate = try desk.issue("9A")
        let generation = { (replacing: KeyReplacement) in
            TokenChange.generateKey("9A", .rsa(bits: 2048), KeyPolicies(), replacing: replacing)
        }
        #expect(throws: TokenError(.invalidArgument, "")) { try desk.administer(generation(.none)) }
        #expect(try desk.object("9A")?.certificate == certificate)
        let key = try desk.administer(generation(.ordinary)).publicKey
        // The former certificate is not that of the new key.
        #expect(try desk.object("9A")?.certificate == nil)
        #expect(try desk.object("9A")?.key?.publicKey == key)
    }

    @Test(arguments: [KeyUsage.keyEncipherment, .dataEncipherment, [.keyAgreement, .digitalSignature]])
    func aKeyThatDecryptsIsGivenUpOnlyByName(_ usage: KeyUsage) throws {
        let desk = try Self.blank(.yubiKey57)
        let certificate = try desk.issue("9D", usage)
        #expect(throws: TokenError(.invalidArgument, "")) {
            try desk.administer(.generateKey("9D", .ecP256, KeyPolicies(), replacing: .ordinary))
        }
        #expect(throws: TokenError(.invalidArgument, "")) {
            try desk.administer(.deleteKey("9D", replacing: .ordinary))
        }
        #expect(try desk.object("9D")?.certificate == certificate)
        try desk.administer(.deleteKey("9D", replacing: .any))
        #expect(try desk.object("9D") == nil)
    }

    @Test func aManagementKeyThatWaitsForATouchSaysThatNoneCame() throws {
        let desk = try Self.blank(.yubiKey57)
        let new = NewManagementKey(.aes256, nil, touch: .always, isKeptOnToken: true)
        try desk.administer(.setManagementKey(new), by: .both("123456"))
        #expect(try desk.managementKey().touch == .always)
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) {
            try desk.administer(.setData("security-object", [1]), by: .kept("123456"))
        }
        // The card answers the same for another key.
        #expect(throws: TokenError(.notAuthorized, "")) {
            try desk.administer(.setData("security-object", [1]), by: .key([UInt8](repeating: 7, count: 32)))
        }
        desk.card.touch()
        try desk.administer(.setData("security-object", [1]), by: .kept("123456"))
    }

    @Test func policiesAreThoseThatWereAskedFor() throws {
        let desk = try Self.blank(.yubiKey57)
        let policies = KeyPolicies(pin: .never, touch: .cached)
        try desk.administer(.generateKey("9A", .ecP256, policies, replacing: .none))
        let key = try #require(try desk.object("9A")?.key)
        #expect(key.pinPolicy == .never && key.touchPolicy == .cached)
    }

    @Test func aCardWithoutPoliciesSaysSo() throws {
        let desk = try Self.blank(.generic)
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.administer(.generateKey("9A", .ecP256, KeyPolicies(touch: .always), replacing: .none))
        }
    }

    /// YSA-2017-01: a YubiKey 4.2.7 makes weak RSA keys. Its keys on curves, and imported ones, are as good as others.
    @Test func aCardThatMakesWeakRSAKeysIsToldToMakeOthers() throws {
        let desk = try Self.blank(.yubiKey42)
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.administer(.generateKey("9A", .rsa(bits: 2048), KeyPolicies(), replacing: .none))
        }
        // Nobody can agree to a key that is known from its public half.
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.administer(
                .generateKey("9A", .rsa(bits: 2048), KeyPolicies(), replacing: .none, allowsWeak: true))
        }
        #expect(desk.count(0x47) == 0)
        try desk.administer(.generateKey("9A", .ecP256, KeyPolicies(), replacing: .none))
        #expect(try desk.managementKey().weakKeys.contains(.rsa(bits: 2048)))
    }

    /// YSA-2024-03: a YubiKey 5.4 computes ECDSA so that who holds it can find out the key. Its RSA keys are as good as others.
    @Test(arguments: [KeyKind.ecP256, .ecP384])
    func aCardWhoseCurvesLeakMakesKeysOnThemOnlyWhereThatIsAllowed(_ kind: KeyKind) throws {
        let desk = try Self.blank(.yubiKey54)
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.administer(.generateKey("9A", kind, KeyPolicies(), replacing: .none))
        }
        #expect(desk.count(0x47) == 0)
        #expect(try desk.managementKey().weakKeys == [.ecP256, .ecP384])
        try desk.administer(.generateKey("9A", .rsa(bits: 2048), KeyPolicies(), replacing: .none))
        try desk.administer(.generateKey("9C", kind, KeyPolicies(), replacing: .none, allowsWeak: true))
        #expect(try desk.object("9C")?.key?.kind == kind)
        let newer = try Self.blank(.yubiKey57)
        try newer.administer(.generateKey("9A", kind, KeyPolicies(), replacing: .none))
        #expect(try newer.managementKey().weakKeys.isEmpty)
    }

    @Test func printedInformationIsNotLost() throws {
        let desk = try Self.blank(.yubiKey57)
        let printed = TLV(0x01, Array("Jo Doe".utf8)).encoded()
        try desk.administer(.setData("printed-information", printed))
        let new = NewManagementKey(.aes192, nil, touch: .never, isKeptOnToken: true)
        #expect(throws: TokenError(.unsupported, "")) {
            try desk.administer(.setManagementKey(new), by: .both("123456"))
        }
        #expect(desk.card.contents.objects[0x5FC109] == printed)
        #expect(try desk.managementKey().isDefault == true && !desk.managementKey().isKeptOnToken)
    }

    // MARK: Import and certificates

    @Test(arguments: [KeyKind.rsa(bits: 1024), .rsa(bits: 2048), .ecP256, .ecP384, .ed25519])
    func anImportedKeySigns(_ kind: KeyKind) throws {
        let desk = try Self.blank(.yubiKey57)
        let key = try PrivateKey.generate(kind)
        try desk.administer(
            .importKey("9A", SharedSecret(key.pkcs8()), KeyPolicies(), replacing: .none))
        #expect(try desk.object("9A")?.key?.publicKey == key.publicKey.spki)
        let (algorithm, input): (SignatureAlgorithm, [UInt8]) =
            switch kind {
            case .rsa: (.rsaPKCS1(.sha256), Self.digest)
            case .ed25519: (.ed25519, Self.digest)
            default: (.ecdsa(nil), Self.digest)
            }
        let signature = try desk.perform("9A", .sign(algorithm, input), pin: "123456")
        if case .ed25519 = kind {
            #expect(try key.publicKey.verify(signature, message: input, using: algorithm))
        } else {
            #expect(try key.publicKey.verify(signature, digest: input, using: algorithm))
        }
    }

    @Test func aCertificateForAnotherKeyIsRefused() throws {
        let desk = try Self.blank(.yubiKey57)
        _ = try desk.issue("9A")
        let other = try desk.issue("9C")
        #expect(throws: TokenError(.invalidArgument, "")) { try desk.administer(.setCertificate("9A", other)) }
        #expect(throws: TokenError(.notFound, "")) { try desk.administer(.setCertificate("9D", other)) }
        #expect(throws: TokenError(.invalidArgument, "")) { try desk.administer(.setCertificate("9A", [0x30, 0])) }
    }

    @Test func aCertificateThatDoesNotFitIsCompressed() throws {
        let desk = try Self.blank(.yubiKey57)
        let key = try PublicKey(
            spki: desk.administer(.generateKey("9A", .ecP256, KeyPolicies(), replacing: .none)).publicKey)
        var builder = try CertificateBuilder(
            commonName: "long", publicKey: key, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
        builder.subjectAlternativeNames = (0..<200).map { .dns("host\($0).example.org") }
        let certificate = try builder.selfSigned(by: PrivateKey.generate(.ecP256)).der
        #expect(certificate.count > desk.card.profile.objectLimit)
        try desk.administer(.setCertificate("9A", certificate))
        #expect(try desk.object("9A")?.certificate == certificate)
    }

    @Test func theKeyHistoryCountsRetiredCertificates() throws {
        let desk = try Self.blank(.yubiKey57)
        try desk.administer(.identify)
        func count() throws -> Int? {
            try desk.content(of: "key-history").map { try KeyHistory(parsing: $0).onCard }
        }
        let certificate = try desk.issue("9D", .keyAgreement)
        try desk.administer(.moveKey("9D", to: "82"))
        #expect(try count() == 1 && desk.object("82")?.certificate == certificate)
        #expect(try desk.object("9D") == nil)
        _ = try desk.issue("9D", .keyAgreement)
        #expect(throws: TokenError(.invalidArgument, "")) { try desk.administer(.moveKey("9D", to: "82")) }
        try desk.administer(.moveKey("9D", to: "84"))
        #expect(try count() == 3)
        try desk.administer(.deleteKey("84", replacing: .any))
        #expect(try count() == 1)
        try desk.administer(.deleteKey("82", replacing: .any))
        #expect(try count() == 0)
    }

    // MARK: Secrets

    @Test(arguments: yubiKeys) func theCardKeepsARandomManagementKeyUnderThePIN(_ profile: CardProfile) throws {
        let desk = try Self.blank(profile)
        #expect(try desk.managementKey().isDefault == true)
        let cipher = try #require(try desk.managementKey().ciphers.first)
        let new = NewManagementKey(cipher, nil, touch: .never, isKeptOnToken: true)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.administer(.setManagementKey(new)) }
        #expect(try desk.administer(.setManagementKey(new), by: .both("123456")) == Desk.Outcome())
        let status = try desk.managementKey()
        #expect(status.isKeptOnToken && status.isDefault == false && status.cipher == cipher)
        let change = TokenChange.generateKey("9A", .ecP256, KeyPolicies(), replacing: .any, allowsWeak: true)
        #expect(throws: TokenError(.notAuthorized, "")) { try desk.administer(change) }
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.administer(change, by: .kept("654321")) }
        try desk.administer(change, by: .kept("123456"))
        // No trace has the key.
        let key = try #require(desk.card.contents.managementKey).value.bytes
        #expect(!desk.trace.lines.joined().contains(Hex.encode(key)) && key.count == cipher.keyLength)
        // Once more, and then to one that the card does not keep.
        try desk.administer(.setManagementKey(new), by: .kept("123456"))
        let own = SharedSecret(Secret(copying: Desk.factory.span))
        try desk.administer(
            .setManagementKey(NewManagementKey(.tripleDES, own, touch: .never, isKeptOnToken: false)),
            by: .kept("123456"))
        #expect(try !desk.managementKey().isKeptOnToken)
        #expect(desk.card.contents.objects[0x5FC109] == nil)
        try desk.administer(change, by: .key(Desk.factory))
    }

    @Test func triesAreSetWithTheFactorysPINs() throws {
        let desk = try Self.blank(.yubiKey57)
        try desk.change(from: "123456", to: "111222")
        try desk.administer(.setTries(pin: 7, unblockingKey: 5), by: .both("111222"))
        #expect(try desk.status().maximumTries == 7 && desk.status().isDefault == true)
        try desk.verify("123456")
    }

    @Test(arguments: [CardProfile.yubiKey57, .yubiKey43, .generic]) func aCardIsErasedOrKept(
        _ profile: CardProfile
    ) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        guard profile.hasPolicies else {
            #expect(throws: TokenError(.unsupported, "")) { try desk.slot.erase(at: desk.slot.insertion()) }
            #expect(desk.card.triesLeft == Int(profile.tries) && desk.pinsSent == 0)
            return
        }
        try desk.slot.erase(at: desk.slot.insertion())
        #expect(try desk.inventory().objects.allSatisfy { $0.id == "F9" })
        try desk.verify("123456")
    }

    @Test func nobodyHasGivenThePINOfACardThatWasReset() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        let slot = TokenSlot(reader: desk.reader, drivers: [PIVDriver()], keepingPIN: true)
        try slot.verify(PIN("123456"), lastTry: .keep, at: slot.insertion())
        #expect(slot.hasSharedPIN)
        try slot.erase(at: slot.insertion())
        #expect(!slot.hasSharedPIN)
    }

    /// Blank cards of a kind have one identifier, and a card that is reset has what it refused as such a card before.
    @Test func aResetCardIsGivenWhatItRefusedBefore() throws {
        let memory = VolatileTokenMemory()
        let blank = try Desk(IssuedCard(profile: .yubiKey43, keys: [:], keyHistory: nil, guid: nil))
        var program: Desk { blank.anotherProgram(rejectedPINs: memory) }
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.unblock("55555555", newPIN: "111222") }
        #expect(throws: TokenError(.pinKnownIncorrect, "")) { try program.unblock("55555555", newPIN: "111222") }
        let eraser = program
        try eraser.slot.erase(at: eraser.slot.insertion())
        #expect(throws: TokenError(.pinIncorrect, "")) { try program.unblock("55555555", newPIN: "111222") }
    }

    // MARK: Faults

    /// Wherever a card is taken out, a later attempt finishes, and no certificate stands beside a key that it does not certify.
    @Test(arguments: [CardFault.remove, .reset, .drop]) func whatWasInterruptedIsFinishedLater(_ fault: CardFault)
        throws
    {
        for index in 0..<40 {
            let desk = try Self.blank(.yubiKey57)
            let former = try desk.issue("9A")
            let cipher = BlockCipher.aes256
            let jobs: [(TokenChange, Desk.Authority)] = [
                (.generateKey("9A", .ecP256, KeyPolicies(), replacing: .any), .factory),
                (.setManagementKey(NewManagementKey(cipher, nil, touch: .never, isKeptOnToken: true)), .both("123456")),
                (.setManagementKey(NewManagementKey(cipher, nil, touch: .never, isKeptOnToken: true)), .kept("123456")),
            ]
            desk.reader.faults.order(fault, at: index)
            for (change, authority) in jobs { _ = try? desk.administer(change, by: authority) }
            let wasHit = desk.reader.faults.count == 0
            desk.reader.faults.clear()
            desk.reader.insert(desk.card)
            let object = try desk.object("9A")
            if let certificate = object?.certificate {
                #expect(certificate == former)
                #expect(try Certificate(der: certificate).spki == object?.key?.publicKey, "\(index)")
            }
            let repair = TokenChange.generateKey("9C", .ecP256, KeyPolicies(), replacing: .any)
            let canStillWrite = [Desk.Authority.kept("123456"), .factory].contains { authority in
                (try? desk.administer(repair, by: authority)) != nil
            }
            #expect(canStillWrite, "\(fault) at \(index)")
            if !wasHit { return }
        }
        Issue.record("the jobs have more commands than there are faults")
    }
}
