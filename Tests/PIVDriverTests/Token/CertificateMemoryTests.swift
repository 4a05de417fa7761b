import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver
@testable import VirtualCard

/// Of each certificate that was read before, only the beginning is read again, and changes are noticed.
@Suite struct CertificateMemoryTests {
    private let memory = VolatileTokenMemory()
    private let select: UInt8 = 0xA4, getData: UInt8 = 0xCB

    /// Reads the card's identity and lists all its objects.
    private func list(_ desk: Desk) throws -> TokenInventory {
        _ = try desk.identity()
        return try desk.inventory()
    }

    /// A new program at the same card.
    private func fresh(_ card: VirtualCard) -> Desk { Desk(card: card, certificates: memory) }

    private func certificates(_ inventory: TokenInventory) -> [[UInt8]?] { inventory.objects.map(\.certificate) }

    @Test(arguments: [CardProfile.genericShort, .genericT0, .yubiKey43])
    func aWarmListingCostsFewerCommandsAndSaysTheSame(profile: CardProfile) throws {
        let travel = Travel(profile, .rsa2048)
        let card = try travel.card.make()
        let cold = fresh(card)
        let first = try list(cold)
        let warm = fresh(card)
        #expect(try list(warm) == first)
        #expect(first.objects.count >= 4)
        #expect(warm.reader.log.count < cold.reader.log.count, "\(warm.reader.log)")
        // A second listing by the same program costs nothing.
        warm.forgetCommands()
        #expect(try list(warm) == first)
        #expect(warm.reader.log.isEmpty)
    }

    @Test func aWarmListingIsOneCommandACertificate() throws {
        let card = try Travel(.genericShort, .rsa2048).card.make()
        _ = try list(fresh(card))
        let warm = fresh(card)
        _ = try list(warm)
        // SELECT, CHUID, four certificates, Key History; no continuation among them.
        #expect(warm.commands == [select] + Array(repeating: getData, count: 6))
        #expect(warm.reader.log.count == 7)
    }

    @Test(arguments: [CardProfile.genericExtended, .yubiKey54, .yubiKey57, .yubiKeyNEO])
    func neverDoesItCostMore(profile: CardProfile) throws {
        let card = try Travel(profile, .p256).card.make()
        let cold = fresh(card)
        _ = try list(cold)
        let warm = fresh(card)
        _ = try list(warm)
        #expect(warm.reader.log.count <= cold.reader.log.count)
    }

    @Test func whereNobodyAskedWhichCardItIsNothingIsRecalled() throws {
        let card = try Travel(.genericShort, .rsa2048).card.make()
        _ = try list(fresh(card))
        let desk = fresh(card)
        let object = try #require(try desk.inventory(.object(TokenObjectID("9A"))).objects.first)
        #expect(object.certificate != nil)
        #expect(desk.commands == [select, getData])
    }

    // MARK: - What has changed

    @Test(arguments: [CardProfile.genericShort, .genericExtended, .genericT0, .yubiKey57])
    func aReissuedCardIsNoticed(profile: CardProfile) throws {
        let old = try IssuedCard(profile: profile).make()
        let before = try list(fresh(old))
        // A card with the same GUID and serial number, and other keys.
        var issued = IssuedCard(profile: profile)
        for key in issued.keys.keys { issued.keys[key] = .p384 }
        let card = try issued.make()
        let after = try list(fresh(card))
        #expect(after == (try list(Desk(card: card))))
        // The certificates of the four keys differ; a YubiKey's attestation certificate is the same as before.
        #expect(Set(certificates(before).prefix(4)).isDisjoint(with: certificates(after)))
        #expect(try list(fresh(card)) == after)
    }

    @Test func aCertificateThatIsGoneIsGone() throws {
        let card = try IssuedCard(profile: .genericShort).make()
        #expect(try list(fresh(card)).objects.count == 4)
        let less = try IssuedCard(
            profile: .genericShort, withoutCertificate: [.signature]
        ).make()
        #expect(try list(fresh(less)).objects.map(\.id.rawValue) == ["9A", "9D", "9E"])
        #expect(try list(fresh(card)).objects.count == 4)
    }

    @Test func aSerialNumberThatDiffersIsNoticed() throws {
        let key = try KeyPair.named(.rsa2048, .authentication).privateKey
        let certificates = try [1, 2].map { number in
            var builder = try CertificateBuilder(
                commonName: "Anna", publicKey: key.publicKey, notBefore: 1_600_000_000, notAfter: 1_900_000_000)
            builder.serialNumber = [0x01, UInt8(number)]
            return try builder.selfSigned(by: key).der
        }
        for der in certificates {
            let card = try IssuedCard(
                profile: .genericShort, objects: [0x5FC105: CardObject.certificate(der)]
            ).make()
            #expect(try list(fresh(card)).objects.first?.certificate == der)
        }
    }

    /// The metadata of a key reveals another certificate that begins like the last one.
    @Test func anotherKeyBehindTheSameBeginningIsNoticed() throws {
        let pairs = try [CardKeyReference.authentication, .signature].map { try KeyPair.named(.rsa2048, $0).privateKey }
        // Signatures of a fixed length, and names so long that the key is not in the first answer.
        let issuer = try KeyPair.named(.rsa2048, .keyManagement).privateKey
        for pair in pairs {
            var builder = try CertificateBuilder(
                commonName: String(repeating: "ä", count: 64), publicKey: pair.publicKey,
                notBefore: 1_600_000_000, notAfter: 1_900_000_000)
            builder.serialNumber = [0x01]
            let der = try builder.selfSigned(by: issuer).der
            var contents = try IssuedCard(
                profile: .yubiKey57, keys: [:], objects: [0x5FC105: CardObject.certificate(der)]
            ).make().contents
            contents.keys[.authentication] = CardKey(
                pair, algorithm: .rsa2048, pinPolicy: .once, touchPolicy: .never, origin: .generated)
            let card = VirtualCard(profile: .yubiKey57, contents: contents, clock: SimulatedClock())
            let object = try #require(try list(fresh(card)).objects.first)
            #expect(object.certificate == der)
            #expect(object.key?.publicKey == pair.publicKey.spki)
        }
    }

    @Test func aSignatureThatDoesNotVerifyHasTheCertificateReadAnew() throws {
        let card = try Travel(.genericShort, .p256).card.make()
        let desk = fresh(card)
        _ = try list(desk)
        // Another program puts a new key into the slot, which the card does not report.
        var contents = card.contents
        contents.keys[.authentication] = CardKey(
            try PrivateKey.generate(.ecP256), algorithm: .p256, pinPolicy: .never, touchPolicy: .never,
            origin: .generated)
        let changed = fresh(VirtualCard(profile: .genericShort, contents: contents, clock: SimulatedClock()))
        _ = try list(changed)
        #expect(throws: TokenError(.malformed, "")) {
            try changed.perform("9A", Travel(.genericShort, .p256).signature, pin: "123456")
        }
        let remembered = try #require(memory.all().first.flatMap { RememberedCard(parsing: $0) })
        #expect(remembered.objects[.authentication] == nil)
        #expect(remembered.objects.count == 3)
    }

    @Test func aListingInWhichASlotCannotBeReadForgetsItNot() throws {
        let card = try Travel(.genericShort, .p256).card.make()
        _ = try list(fresh(card))
        func remembered() -> RememberedCard? { memory.all().first.flatMap { RememberedCard(parsing: $0) } }
        let known = try #require(remembered())
        let undisturbed = fresh(card)
        _ = try list(undisturbed)
        var failures = 0
        for index in undisturbed.reader.log.indices {
            let desk = fresh(card)
            desk.reader.faults.order(.status(.memoryFailure), at: index)
            failures += (try? list(desk).failures.count) ?? 0
            #expect(remembered()?.objects == known.objects, "command \(index)")
        }
        #expect(failures > 0)
    }

    // MARK: - What is remembered

    @Test func aCardIsKnownOnceItWasListed() throws {
        #expect(PIVDriver(certificates: memory).knownTokens().isEmpty)
        let card = try IssuedCard(profile: .yubiKey57).make()
        let desk = fresh(card)
        let identity = try desk.identity()
        #expect(PIVDriver(certificates: memory).knownTokens().isEmpty)
        let inventory = try desk.inventory()
        let known = PIVDriver(certificates: memory).knownTokens()
        #expect(identity.version == nil)
        #expect(known.map(\.identity.id) == [identity.id])
        #expect(try known.map(\.identity) == [desk.identity()])
        #expect(known.first?.identity.version == "5.7.1")
        let primary = inventory.objects.filter { $0.id != TokenObjectID("F9") }
        #expect(known.first?.inventory.objects.map(\.certificate) == primary.map(\.certificate))
        #expect(known.first?.inventory.objects.map(\.key?.publicKey) == primary.map(\.key?.publicKey))
        #expect(PIVDriver().knownTokens().isEmpty)
    }

    @Test func cardsThatNothingTellsApartAreNotRemembered() throws {
        let desk = fresh(try IssuedCard(profile: .genericShort, keys: [:], guid: nil).make())
        _ = try list(desk)
        #expect(memory.all().isEmpty)
    }

    @Test func whatIsRememberedComesBackFromItsEncoding() throws {
        let identity = TokenIdentity(
            id: TokenID(driver: "piv", instance: "7b13"), label: "Ä card", manufacturer: nil, model: "m",
            serialNumber: "77", version: nil)
        for objects in [[:], [.authentication: [1, 2]], [.retired20: [UInt8](repeating: 3, count: 70_000)]]
            as [[PIVSlot: [UInt8]]]
        {
            for metadata in [[:], [.authentication: [4]], [.retired1: [5, 6], .retired20: []]] as [[PIVSlot: [UInt8]]] {
                for support in [nil, false, true] as [Bool?] {
                    let card = RememberedCard(
                        identity: identity, objects: objects, metadata: metadata, tellsMetadata: support,
                        pinReference: support == true ? .application : nil,
                        proofKey: support.map {
                            ProofKey(object: TokenObjectID("9E"), publicKey: [7, 8], canBeChallenged: $0)
                        })
                    #expect(RememberedCard(parsing: card.encoded()) == card)
                }
            }
        }
    }

    @Test func anythingElseIsForgotten() throws {
        let card = RememberedCard(
            identity: TokenIdentity(id: TokenID(driver: "piv", instance: "7b13"), label: "card"),
            objects: [.authentication: [1, 2]])
        let bytes = card.encoded()
        for count in 0..<bytes.count {
            let cut = RememberedCard(parsing: Array(bytes.prefix(count)))
            #expect(cut != card)
        }
        for other in [
            [], [0x80, 1, 1] + bytes.dropFirst(3), [0x80, 1, 2] + bytes.dropFirst(3),
            [0x80, 1, 4] + bytes.dropFirst(3), bytes + [0xA0, 0], bytes + [0xA0, 3, 0x80, 1, 0x55],
        ] {
            #expect(RememberedCard(parsing: Array(other)) == nil)
        }
    }

    /// The memory is a file: whatever its content is, the listing shows the card.
    @Test func whatIsRememberedWronglyChangesNothing() throws {
        let card = try Travel(.genericShort, .rsa2048).card.make()
        let identity = try Desk(card: card).identity()
        let truth = try list(Desk(card: card))
        let other = TokenIdentity(id: TokenID(driver: "piv", instance: "other"), label: "x")
        let answers: [PIVSlot: [UInt8]] = [.authentication: [0x53, 0], .signature: [UInt8](repeating: 9, count: 999)]
        for bytes in [
            [], [1, 2, 3], RememberedCard(identity: other, objects: answers).encoded(),
            RememberedCard(identity: identity, objects: answers).encoded(),
            RememberedCard(identity: identity, objects: [.retired1: [0x53, 0]]).encoded(),
        ] {
            memory.remember(bytes, for: identity.id)
            #expect(try list(fresh(card)) == truth)
        }
    }

    @Test func aBeginningMustBeLongEnough() {
        let known = [UInt8](repeating: 5, count: 1000)
        #expect(PIVToken.confirms(known, Array(known.prefix(256))))
        #expect(PIVToken.confirms(known, Array(known.prefix(200))))
        #expect(!PIVToken.confirms(known, Array(known.prefix(199))))
        #expect(!PIVToken.confirms(known, []))
        #expect(!PIVToken.confirms(known, known + [5]))
        #expect(!PIVToken.confirms(known, Array(known.prefix(255)) + [6]))
        #expect(PIVToken.confirms([1, 2, 3], [1, 2, 3]))
        #expect(!PIVToken.confirms([1, 2, 3], [1, 2]))
    }
}

/// A certificate object's content as an issuer writes it.
private enum CardObject {
    static func certificate(_ der: [UInt8]) -> [UInt8] {
        [TLV(0x70, der), TLV(0x71, [0x00]), TLV(0xFE, [UInt8]())].flatMap { $0.encoded() }
    }
}
