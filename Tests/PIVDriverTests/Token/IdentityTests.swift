import PIVDriver
import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

@Suite struct IdentityTests {
    private let zeros = String(repeating: "00", count: 16)

    @Test func theGUIDIsTheIdentity() throws {
        let identity = try Desk().identity()
        #expect(identity.id == TokenID(driver: "piv", instance: "7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c"))
        #expect(identity.label == "PIV card 7b13d0e6")
        #expect(identity.model == "PIV")
        #expect(identity.serialNumber == nil)
    }

    @Test func aYubiKeyIsNamedByTheNumberPrintedOnIt() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        let identity = try desk.identity()
        #expect(identity.id.instance == "7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c")
        #expect(identity.label == "YubiKey 5 7654321")
        #expect(identity.manufacturer == "Yubico")
        #expect(identity.model == "YubiKey 5")
        #expect(identity.serialNumber == "7654321")
        #expect(desk.commands.count == 3)
    }

    @Test func theCardholdersUUIDTakesThePlaceOfAMissingGUID() throws {
        let content = [UInt8](hex: "3410\(zeros)3610DB17539147494A32977D7A3843775E8A3E00FE00")
        let desk = try Desk(IssuedCard(objects: [0x5FC102: content]))
        #expect(try desk.identity().id.instance == "db175391-4749-4a32-977d-7a3843775e8a")
    }

    @Test func theSerialNumberTakesThePlaceOfZeros() throws {
        let desk = try Desk(IssuedCard(profile: .token2, guid: zeros))
        #expect(try desk.identity().id.instance == "serial-7654321")
        #expect(desk.commands.count == 3)
    }

    @Test func aCertificateIdentifiesACardThatHasNoNumber() throws {
        let issued = IssuedCard(guid: nil)
        let identity = try Desk(issued).identity()
        #expect(identity.id.instance.hasPrefix("certificate-"))
        #expect(identity.id.instance.count == 52)
        #expect(identity.label == "PIV card \(identity.id.instance.dropFirst(12).prefix(8))")
        #expect(try Desk(issued).identity() == identity)
        let other = try Desk(IssuedCard(keys: [0x9E: .p256], guid: nil)).identity()
        #expect(other.id.instance.hasPrefix("certificate-"))
        #expect(other.id != identity.id)
        #expect(other.label != identity.label)
    }

    @Test func aBlankCardIsAnyBlankCard() throws {
        let identity = try Desk(IssuedCard(keys: [:], guid: nil)).identity()
        #expect(identity.id.instance.hasPrefix("blank-3BDC18"))
    }

    @Test(arguments: [[0x34, 0x02, 0xAA], [0x34, 0x01, 0x00], [0xFF]] as [[UInt8]])
    func aBrokenCHUIDIsAsGoodAsNone(content: [UInt8]) throws {
        let desk = try Desk(IssuedCard(objects: [0x5FC102: content]))
        #expect(try desk.identity().id.instance.hasPrefix("certificate-"))
    }

    @Test func itIsTheSameInEveryProgramAndAfterAReset() throws {
        let desk = try Desk()
        let identity = try desk.identity()
        #expect(try desk.anotherProgram().identity() == identity)
        desk.reader.resetByAnotherClient()
        #expect(try desk.identity() == identity)
        #expect(TokenID(identity.id.description) == identity.id)
    }

    @Test(arguments: ["6A82", "6D00", "6E00", "6A86", "6999", "6985", "6700"])
    func aCardThatRefusesToSelectPIVIsNotOfThisKind(status: String) throws {
        let card = SmallCard()
        card.answers = [("00A4", status)]
        var transaction = card.transaction()
        #expect(try PIVDriver().recognize(&transaction, atr: card.atr) == nil)
        #expect(card.commands.count == 1)
    }

    @Test func anotherApplicationIsNotOfThisKind() throws {
        let card = SmallCard()
        card.answers = [("00A4", "61114F0600001100010079074F05A0000003089000")]
        var transaction = card.transaction()
        #expect(try PIVDriver().recognize(&transaction, atr: card.atr) == nil)
    }

    @Test(arguments: ["6F00", "619000", "9000", "61114F06000010009000"])
    func aFailureWhileSelectingIsNoVerdict(answer: String) {
        let card = SmallCard()
        card.answers = [("00A4", answer)]
        var transaction = card.transaction()
        #expect(throws: TokenError(.malformed, "")) {
            _ = try PIVDriver().recognize(&transaction, atr: card.atr) == nil
        }
    }
}

@Suite struct FactsTests {
    private func facts(_ issued: IssuedCard) throws -> [String: String] {
        Dictionary(try Desk(issued).facts().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    @Test func aGovernmentCardTellsOfItself() throws {
        let facts = try facts(
            IssuedCard(keyHistory: 5, objects: [0x5FC107: Fixture.cardCapability, 0x7E: Fixture.globalDiscovery]))
        #expect(facts["Application label"] == "PIV")
        #expect(facts["GUID"] == "7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c")
        #expect(facts["FASC-N"] == "4700-0256-001337-1-1")
        #expect(facts["Expires"] == "2032-12-02")
        #expect(facts["Card capability identifier"] == "A00000007950495620322E332E3220636172642020")
        #expect(facts["PIN policy"] == "PIV PIN, global PIN; primary global PIN")
        #expect(facts["Retired keys"] == "5 on the card, 0 elsewhere")
        // Printed Information, which has the name, needs the PIN.
        #expect(facts["Name"] == nil)
    }

    @Test func printedInformationIsToldOnceThePINIsPresented() throws {
        let desk = try Desk(IssuedCard(objects: [0x5FC109: Fixture.printed]))
        try desk.verify()
        let facts = try desk.facts()
        #expect(facts.contains(TokenFact("Name", "Golden PIV")))
        #expect(facts.filter { $0.name == "Organization" }.count == 2)
        #expect(desk.statusQueries == 1)
    }

    @Test func aYubiKeyTellsVersionNumberAndTries() throws {
        let facts = try facts(IssuedCard(profile: .yubiKey54))
        #expect(facts["Firmware"] == "5.4.3")
        #expect(facts["Serial number"] == "7654321")
        #expect(facts["PIN tries left"] == "3 of 3, still the factory's (change it)")
        #expect(facts["PUK tries left"] == "3 of 3, still the factory's (change it)")
        #expect(facts["Warning"]?.contains("EUCLEAK") == true)
    }

    /// A blocked PIN or PUK is not reported as one that should be changed.
    @Test func whatIsBlockedSaysWhatHelps() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey54))
        func tries(_ name: String) throws -> String? {
            try desk.facts().first { $0.name == "\(name) tries left" }?.value
        }
        for pin in ["111111", "222222", "333333"] as [StaticString] {
            #expect(throws: TokenError.self) { try desk.verify(pin, .spend) }
        }
        #expect(try tries("PIN") == "0 of 3, blocked (unblock it with the PUK)")
        #expect(try tries("PUK") == "3 of 3, still the factory's (change it)")
        for key in ["11111111", "22222222", "33333333"] as [StaticString] {
            #expect(throws: TokenError.self) { try desk.unblock(key, newPIN: "654321", .spend) }
        }
        #expect(
            try tries("PIN")
                == "0 of 3, blocked (and so is the PUK; \(PINKind.adviceToReset))")
        #expect(
            try tries("PUK") == "0 of 3, blocked (\(PINKind.adviceToReset))")
    }

    @Test(
        arguments: [
            (CardProfile.yubiKey42, "ROCA"), (.yubiKey57, nil), (.token2, nil), (.generic, nil),
        ] as [(CardProfile, String?)])
    func knownWeaknessesAreWarnedOf(profile: CardProfile, name: String?) throws {
        let warning = try facts(IssuedCard(profile: profile))["Warning"]
        #expect(name.map { warning?.contains($0) == true } ?? (warning == nil))
    }

    @Test func noTryIsSpent() throws {
        let desk = try Desk()
        _ = try desk.facts()
        #expect(desk.pinsSent == 0)
        #expect(desk.card.triesLeft == 3)
    }

    @Test func whatIsBrokenIsLeftOut() throws {
        let facts = try facts(
            IssuedCard(objects: [
                0x5FC102: [0x34, 0x01, 0x00], 0x5FC107: [0xF0, 0x05], 0x7E: [0x5F, 0x2F, 0x01, 0x40],
                0x5FC10C: [0xC1, 0x01, 0xFF],
            ]))
        #expect(facts["GUID"] == nil)
        #expect(facts["Retired keys"] == nil)
        #expect(facts["PIN tries left"] == "3")
    }
}

@Suite struct ContainerReadingTests {
    private func read(_ desk: Desk, _ container: PIVContainer) throws(TokenError) -> [UInt8]? {
        try desk.slot.read { (token, card, _) throws(TokenError) in
            guard var piv = token as? PIVToken else { throw TokenError(.unrecognized, "not PIV") }
            defer { token = piv }
            return try piv.read(container, &card)
        }
    }

    @Test(arguments: PIVContainer.standard.filter { $0.readRule == .always })
    func everyContainerIsReadByItsName(container: PIVContainer) throws {
        let content: [UInt8] = [0x99, 0x02, 0xAA, 0xBB]
        let desk = try Desk(IssuedCard(objects: [container.tag: content]))
        #expect(try read(desk, try #require(PIVContainer.named(container.name))) == content)
    }

    @Test(arguments: PIVContainer.standard.filter { $0.readRule == .pin })
    func thoseOfThePersonWantThePIN(container: PIVContainer) throws {
        let content: [UInt8] = [0xBC, 0x02, 0xAA, 0xBB]
        let desk = try Desk(IssuedCard(objects: [container.tag: content]))
        #expect(throws: TokenError(.pinRequired, "")) { try read(desk, container) }
        try desk.verify()
        #expect(try read(desk, container) == content)
    }

    @Test(arguments: PIVContainer.yubico)
    func yubicosAreReadToo(container: PIVContainer) throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57, objects: [container.tag: [0x80, 0x00]]))
        #expect(try read(desk, container) == [0x80, 0x00])
    }

    @Test func oneThatIsNotThereIsNil() throws {
        #expect(try read(Desk(), .securityObject) == nil)
        #expect(try read(Desk(IssuedCard(profile: .solo)), .securityObject) == nil)
    }

    @Test func overTheAirMostAreWithheld() throws {
        let desk = try Desk(IssuedCard(profile: .contactless))
        #expect(throws: TokenError(.conditionsNotSatisfied, "")) { try read(desk, .authenticationCertificate) }
        #expect(try read(desk, .cardAuthenticationCertificate) != nil)
    }
}
