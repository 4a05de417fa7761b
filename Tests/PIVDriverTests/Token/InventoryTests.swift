import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@Suite struct InventoryTests {
    private func names(_ inventory: TokenInventory) -> [String] { inventory.objects.map(\.id.rawValue) }

    @Test func objectsComeInTheOrderOfTheirSlotsWithTheirNames() throws {
        let keys: [CardKeyReference: CardAlgorithm] = [
            0x9A: .p256, 0x9C: .rsa2048, 0x9D: .p384, 0x9E: .p256, 0x82: .p256, 0x83: .rsa2048,
        ]
        let inventory = try Desk(IssuedCard(keys: keys, keyHistory: 2)).inventory()
        #expect(names(inventory) == ["9A", "9C", "9D", "9E", "82", "83"])
        #expect(inventory.objects.map(\.label).prefix(2) == ["PIV Authentication", "Digital Signature"])
        #expect(inventory.objects.last?.label == "Retired Key Management 2")
        #expect(inventory.objects.compactMap(\.key?.kind).prefix(3) == [.ecP256, .rsa(bits: 2048), .ecP384])
        #expect(inventory.objects.compactMap(\.key?.pinPolicy).prefix(4) == [.once, .always, .once, .never])
        #expect(inventory.failures.isEmpty)
    }

    @Test func keysCanDoWhatTheirAlgorithmCan() throws {
        let keys: [CardKeyReference: CardAlgorithm] = [0x9A: .rsa2048, 0x9C: .ed25519, 0x9D: .x25519, 0x9E: .p256]
        let inventory = try Desk(IssuedCard(profile: .yubiKey57, keys: keys)).inventory()
        let usage = inventory.objects.map { $0.key?.usage }
        #expect(usage == [[.sign, .decrypt], .sign, .agree, [.sign, .agree], []])
    }

    @Test func certificateAndKeyBelongTogether() throws {
        let object = try #require(try Desk().inventory(.object(TokenObjectID("9A"))).objects.first)
        let certificate = try Certificate(der: try #require(object.certificate))
        #expect(object.key?.publicKey == certificate.spki)
    }

    @Test(arguments: ["9A", "9a", "9E"])
    func aNamedObjectIsTheOnlyOneRead(name: String) throws {
        let desk = try Desk()
        #expect(try names(desk.inventory(.object(TokenObjectID(name)))) == [name.uppercased()])
        #expect(desk.count(0xCB) == 1)
    }

    @Test(arguments: ["82", "99", "", "chuid"])
    func whatIsNotThereIsNeitherFoundNorAFailure(name: String) throws {
        #expect(try Desk().inventory(.object(TokenObjectID(name))) == TokenInventory())
    }

    @Test func anEmptyCardHasNothing() throws {
        #expect(try Desk(IssuedCard(keys: [:], keyHistory: nil, guid: nil)).inventory() == TokenInventory())
    }

    // MARK: - What is broken

    @Test(
        arguments: [
            [0x70, 0x03, 0x30, 0x01, 0x00], [0x70, 0x82, 0x01], [0x70, 0x04, 0x1F, 0x8B, 0x08, 0x00], [0x01],
        ] as [[UInt8]])
    func anUnreadableCertificateDoesNotHideTheOthers(content: [UInt8]) throws {
        let desk = try Desk(IssuedCard(objects: [0x5FC10A: content]))
        let inventory = try desk.inventory()
        #expect(names(inventory) == ["9A", "9D", "9E"])
        #expect(inventory.failures.keys.map(\.rawValue) == ["9C"])
        #expect(inventory.failures[TokenObjectID("9C")]?.code == .malformed)
    }

    @Test func anUnreadableKeyHistoryDoesNotHideTheCertificates() throws {
        let inventory = try Desk(IssuedCard(objects: [0x5FC10C: [0xC1, 0x01, 0x63]])).inventory()
        #expect(names(inventory) == ["9A", "9C", "9D", "9E"])
        #expect(inventory.failures.keys.map(\.rawValue) == ["key-history"])
    }

    @Test func aKeyHistoryThatTellsOfMoreThanThereIsIsNoFailure() throws {
        let inventory = try Desk(IssuedCard(keyHistory: 3)).inventory()
        #expect(names(inventory) == ["9A", "9C", "9D", "9E"])
        #expect(inventory.failures.isEmpty)
    }

    @Test func whatFailedOnceIsReadAgain() throws {
        let desk = try Desk()
        desk.reader.faults.order(.status(.memoryFailure), at: 1)
        #expect(try desk.inventory(.object(TokenObjectID("9A"))).failures.count == 1)
        #expect(try names(desk.inventory(.object(TokenObjectID("9A")))) == ["9A"])
    }

    @Test func anEndlessCertificateIsCutOff() throws {
        let content: [UInt8] = TLV(0x70, Array(repeating: 0x30, count: 60_000)).encoded()
        let desk = try Desk(IssuedCard(objects: [0x5FC105: content]))
        let inventory = try desk.inventory()
        #expect(inventory.failures[TokenObjectID("9A")]?.code == .card(.responseTooLarge))
        #expect(names(inventory) == ["9C", "9D", "9E"])
    }

    // MARK: - Compressed certificates

    @Test func aCompressedCertificateIsListedUnpacked() throws {
        let content = TLV(0x70, Fixture.gzippedCertificate).encoded() + [0x71, 0x01, 0x01, 0xFE, 0x00]
        let inventory = try Desk(IssuedCard(objects: [0x5FC105: content])).inventory()
        #expect(inventory.objects.first?.certificate == Fixture.certificate)
    }
}

@Suite struct RetiredKeyTests {
    private func retired(_ inventory: TokenInventory) -> [String] {
        inventory.objects.map(\.id.rawValue).filter { $0.hasPrefix("8") }
    }

    @Test func theKeyHistorySaysHowManySlotsAreRead() throws {
        let desk = try Desk(IssuedCard(keys: [0x82: .p256, 0x83: .p256, 0x84: .p256], keyHistory: 2))
        #expect(try retired(desk.inventory()) == ["82", "83"])
        // Four certificates that are not there, the history, two that are.
        #expect(desk.count(0xCB) == 7)
    }

    @Test func withoutAHistoryAnOrdinaryCardIsNotSearched() throws {
        let desk = try Desk(IssuedCard(keys: [0x82: .p256], keyHistory: nil))
        #expect(try retired(desk.inventory()).isEmpty)
        #expect(desk.count(0xCB) == 5)
        // A query for its name finds it.
        #expect(try retired(desk.inventory(.object(TokenObjectID("82")))) == ["82"])
    }

    @Test func aYubiKeyTellsByItsMetadata() throws {
        let desk = try Desk(
            IssuedCard(profile: .yubiKey57, keys: [0x9A: .p256, 0x85: .p256, 0x88: .rsa2048], keyHistory: nil))
        #expect(try retired(desk.inventory()) == ["85", "88"])
        #expect(desk.count(0xF7) == 25)
        // Four primary slots, the history, two retired, the attestation certificate.
        #expect(desk.count(0xCB) == 8)
        desk.forgetCommands()
        _ = try desk.inventory()
        #expect(desk.commands.isEmpty)
    }

    @Test func aKeyHistoryOnAYubiKeyIsAHint() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey54, keys: [0x82: .p256, 0x95: .p256], keyHistory: 1))
        #expect(try desk.inventory().objects.map(\.id.rawValue) == ["82", "95", "F9"])
    }

    /// A history is only a number of slots, from the first one on. One that is empty shows that a key is elsewhere.
    @Test func aKeyBehindAnEmptySlotOfTheHistoryIsFoundByOneSearch() throws {
        let memory = VolatileTokenMemory()
        let issued = IssuedCard(keys: [0x82: .p256, 0x83: .p256, 0x95: .p256], keyHistory: 3)
        let first = try Desk(issued, memory: memory)
        #expect(try first.inventory().objects.map(\.id.rawValue) == ["82", "83", "95"])
        let second = Desk(card: first.card, memory: memory)
        #expect(try second.inventory().objects.map(\.id.rawValue) == ["82", "83", "95"])
        // Four primary slots, the history, its three slots, the one that is remembered, and the card's identity.
        #expect(second.count(0xCB) <= 10, "\(second.reader.log)")
    }

    @Test(arguments: [CardProfile.yubiKey43, .yubiKeyNEO])
    func aCardThatTellsNothingIsSearchedOnceForEver(profile: CardProfile) throws {
        let memory = VolatileTokenMemory()
        let issued = IssuedCard(profile: profile, keys: [0x9A: .p256, 0x82: .p256, 0x90: .p256], keyHistory: nil)
        let first = try Desk(issued, memory: memory)
        let found = try first.inventory().objects.map(\.id.rawValue).prefix(3)
        #expect(found == ["9A", "82", "90"])
        #expect(first.count(0xCB) >= 25)

        let second = Desk(card: first.card, memory: memory)
        #expect(try second.inventory().objects.map(\.id.rawValue).prefix(3) == found)
        #expect(second.count(0xCB) <= 9, "\(second.reader.log)")
    }

    @Test func metadataOfAllRetiredSlotsIsAskedForOnceForEver() throws {
        let memory = VolatileTokenMemory()
        let issued = IssuedCard(profile: .yubiKey54, keys: [0x9A: .p256, 0x83: .p256], keyHistory: nil)
        let first = try Desk(issued, memory: memory)
        let found = try first.inventory().objects.map(\.id.rawValue)
        #expect(found == ["9A", "83", "F9"])
        #expect(first.count(0xF7) >= 20)

        let second = Desk(card: first.card, memory: memory)
        #expect(try second.inventory().objects.map(\.id.rawValue) == found)
        #expect(second.count(0xF7) <= 6, "\(second.reader.log)")
    }

    @Test func aNewKeyInAPrimarySlotIsAReasonToLookForRetiredKeysAgain() throws {
        let memory = VolatileTokenMemory()
        let old = IssuedCard(profile: .yubiKey54, keys: [0x9A: .p256, 0x9D: .p256], keyHistory: nil)
        _ = try Desk(old, memory: memory).inventory()
        // The same card, whose key for decryption was retired to 82 and replaced.
        let new = IssuedCard(profile: .yubiKey54, keys: [0x9A: .p256, 0x9D: .p384, 0x82: .p256], keyHistory: nil)
        #expect(try Desk(new, memory: memory).inventory().objects.map(\.id.rawValue).contains("82"))
    }

    @Test func withoutAMemoryNothingIsSearched() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKeyNEO, keys: [0x9A: .p256, 0x82: .p256], keyHistory: nil))
        #expect(try desk.inventory().objects.map(\.id.rawValue) == ["9A"])
        #expect(desk.count(0xCB) == 5)
    }
}

@Suite struct KeyWithoutCertificateTests {
    @Test func metadataTellsOfTheKey() throws {
        let desk = try Desk(
            IssuedCard(
                profile: .yubiKey57, keys: [0x9A: .p256, 0x9C: .rsa2048], pinPolicies: [0x9A: .always],
                touchPolicies: [0x9A: .cached], withoutCertificate: [0x9A, 0x9C], keyHistory: nil))
        let inventory = try desk.inventory()
        let object = try #require(inventory.objects.first)
        #expect(object.certificate == nil)
        #expect(try object.key?.publicKey == IssuedCard.publicKey(0x9A, .p256).spki)
        #expect(object.key?.pinPolicy == .always)
        #expect(object.key?.touchPolicy == .cached)
        #expect(inventory.objects.map(\.id.rawValue) == ["9A", "9C", "F9"])
    }

    @Test func attestationTellsOfItWhereThereIsNoMetadata() throws {
        let desk = try Desk(
            IssuedCard(
                profile: .yubiKey43, keys: [0x9A: .p256], touchPolicies: [0x9A: .always], withoutCertificate: [0x9A]))
        let object = try #require(try desk.inventory(.object(TokenObjectID("9A"))).objects.first)
        #expect(object.certificate == nil)
        #expect(try object.key?.publicKey == IssuedCard.publicKey(0x9A, .p256).spki)
        #expect(object.key?.touchPolicy == .always)
    }

    @Test func aKeyWithoutACertificateSigns() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [0x9A: .p256], withoutCertificate: [0x9A]))
        let digest = [UInt8](repeating: 1, count: 32)
        let signature = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        #expect(try IssuedCard.publicKey(0x9A, .p256).verify(signature, digest: digest, using: .ecdsa(nil)))
    }

    @Test func aCertificateWithoutAKeyIsACertificate() throws {
        let content = TLV(0x70, Fixture.certificate).encoded() + [0x71, 0x01, 0x00, 0xFE, 0x00]
        let desk = try Desk(IssuedCard(profile: .yubiKey57, keys: [:], objects: [0x5FC105: content]))
        let object = try #require(try desk.inventory(.object(TokenObjectID("9A"))).objects.first)
        #expect(object.certificate == Fixture.certificate)
        #expect(object.key == nil)
        #expect(throws: TokenError(.notFound, "")) {
            try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: "123456")
        }
        #expect(desk.pinsSent == 0)
    }

    @Test func unknownNumbersLeaveTheSlotListed() throws {
        let card = SmallCard(atr: "3BFD1300008131FE158073C021C057597562694B657940", label: false)
        card.objects["5FC105"] = try SmallCard.certificateObject(for: PrivateKey.generate(.ecP256))
        card.answers.append(("00F7009A", "0101550202090A0301039000"))
        card.answers.append(("00F7009C", "01015502020202" + "9000"))
        var transaction = card.transaction()
        var token = try #require(try PIVDriver().recognize(&transaction, atr: card.atr))
        let known = try #require(try token.inventory(.object(TokenObjectID("9A")), &transaction).objects.first?.key)
        #expect(known.kind == .ecP256)
        #expect(known.pinPolicy == .other(9))
        #expect(known.touchPolicy == .other(10))
        let unknown = try #require(try token.inventory(.object(TokenObjectID("9C")), &transaction).objects.first?.key)
        #expect(unknown.kind == .other("55"))
        #expect(unknown.publicKey.isEmpty)
        #expect(unknown.usage == [])
    }
}
