import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import PIVDriver

/// Each row of the quirk table, on the virtual cards that it names.
@Suite struct QuirkTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let quirk: PIVQuirk
        let profile: String
        var testDescription: String { "\(quirk.model ?? "row"): \(profile)" }
    }

    static let rows = PIVQuirk.table.flatMap { quirk in quirk.profiles.map { Row(quirk: quirk, profile: $0) } }

    /// The quirks that the driver finds for a profile.
    private func quirks(_ name: String) throws -> PIVQuirks {
        let profile = try #require(CardProfile.named(name))
        let card = try IssuedCard(profile: profile, keys: [:]).make()
        let answer = try ResponseAPDU(parsing: card.process(PIVCommand.select.encoded(.short)))
        var template = answer.data
        while let remaining = answer.status.remainingResponseLength, template.isEmpty {
            template = Array(card.process([0x00, 0xC0, 0x00, 0x00, UInt8(remaining)]).dropLast(2))
        }
        return PIVQuirks(of: card.atr, try ApplicationTemplate(parsing: template))
    }

    @Test func everyRowNamesAProfile() {
        for quirk in PIVQuirk.table { #expect(!quirk.profiles.isEmpty && !quirk.differences.isEmpty) }
    }

    @Test func everyDifferenceIsInARow() {
        let used = PIVQuirk.table.reduce(into: Set()) { $0.formUnion($1.differences) }
        #expect(used == Set(PIVQuirk.Difference.allCases))
    }

    @Test(arguments: rows)
    func aRowHoldsForItsProfiles(row: Row) throws {
        let quirks = try quirks(row.profile)
        for difference in row.quirk.differences { #expect(quirks.has(difference), "\(difference)") }
        if let model = row.quirk.model { #expect(quirks.model == model) }
    }

    @Test(arguments: CardProfile.all.map(\.name))
    func noRowHoldsForAnyOther(name: String) throws {
        let quirks = try quirks(name)
        let expected = PIVQuirk.table.filter { $0.profiles.contains(name) }
            .reduce(into: Set()) { $0.formUnion($1.differences) }
        for difference in PIVQuirk.Difference.allCases {
            #expect(quirks.has(difference) == expected.contains(difference), "\(difference)")
        }
    }
}

/// The effect of each difference.
@Suite struct DifferenceTests {
    static func profiles(with difference: PIVQuirk.Difference) -> [String] {
        let names = PIVQuirk.table.filter { $0.differences.contains(difference) }.flatMap(\.profiles)
        return Array(Set(names)).sorted()
    }

    private func desk(_ name: String, _ change: (inout IssuedCard) -> Void = { _ in }) throws -> Desk {
        var issued = IssuedCard(profile: try #require(CardProfile.named(name)))
        change(&issued)
        return try Desk(issued)
    }

    @Test(arguments: profiles(with: .tellsVersion))
    func itsVersionIsAFact(name: String) throws {
        let version = try #require(CardProfile.named(name)?.firmware?.description)
        #expect(try desk(name).facts().contains(TokenFact("Firmware", version)))
    }

    @Test(arguments: profiles(with: .tellsSerialNumber))
    func itsSerialNumberIsKnown(name: String) throws {
        #expect(try desk(name).identity().serialNumber == "7654321")
    }

    @Test(arguments: profiles(with: .mayTellMetadata))
    func metadataGivesThePolicy(name: String) throws {
        let desk = try desk(name) { $0.pinPolicies[0x9A] = .always }
        #expect(try desk.inventory(.object(TokenObjectID("9A"))).objects.first?.key?.pinPolicy == .always)
        #expect(desk.count(0xF7) == 1)
    }

    @Test func metadataThatIsNotThereIsAskedForOnce() throws {
        var profile = CardProfile.yubiKey43
        profile.atr = CardProfile.yubiKey57.atr
        let desk = try Desk(IssuedCard(profile: profile))
        #expect(try desk.inventory().objects.count == 5)
        #expect(desk.count(0xF7) == 1)
        _ = try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: "123456")
        #expect(desk.count(0xF7) == 1)
    }

    @Test(arguments: profiles(with: .anyPINCharacters))
    func lettersGetToTheCard(name: String) throws {
        let desk = try desk(name)
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("abcdef") }
        try desk.change(from: "123456", to: "Pa55wd!")
        try desk.verify("Pa55wd!")
    }

    @Test(arguments: profiles(with: .onlyApplicationPIN))
    func noDiscoveryObjectIsRead(name: String) throws {
        let desk = try desk(name)
        try desk.verify()
        #expect(!desk.reader.log.contains { $0.object == 0x7E })
    }

    @Test(arguments: profiles(with: .noStatusQuery))
    func itsStatusIsNotAskedFor(name: String) throws {
        let desk = try desk(name)
        try desk.verify()
        #expect(try desk.status().isVerified)
        #expect(desk.statusQueries == 0)
    }

    @Test(arguments: profiles(with: .noLogout))
    func logoutIsNotTried(name: String) throws {
        let desk = try desk(name)
        #expect(throws: TokenError(.unsupported, "")) { try desk.logOut() }
        #expect(!desk.reader.log.contains { $0.ins == 0x20 && $0.p1 == 0xFF })
    }

    @Test(arguments: profiles(with: .retiredKeysWithoutHistory))
    func retiredKeysAreFoundWithoutAHistory(name: String) throws {
        let issued = IssuedCard(profile: try #require(CardProfile.named(name)), keys: [0x8A: .p256], keyHistory: nil)
        let inventory = try Desk(issued, memory: VolatileTokenMemory()).inventory()
        #expect(inventory.objects.first?.id.rawValue == "8A")
    }

    @Test(arguments: profiles(with: .mayAttest))
    func itsAttestationCertificateIsListed(name: String) throws {
        let object = try desk(name).inventory().objects.last
        guard name != "yubikey-4.2" else {
            // This version has no attestation certificate yet.
            #expect(object?.id.rawValue == "9E")
            return
        }
        #expect(object?.id.rawValue == "F9")
        #expect(object?.label == "Attestation")
        #expect(object?.certificate != nil)
        #expect(object?.key?.usage == [])
    }

    @Test(arguments: profiles(with: .ed25519As22))
    func ed25519HasItsNumber(name: String) throws {
        let desk = try desk(name) { $0.keys[0x9A] = .ed25519 }
        let signature = try desk.perform("9A", .sign(.ed25519, [1, 2, 3]), pin: "123456")
        #expect(try IssuedCard.publicKey(0x9A, .ed25519).verify(signature, message: [1, 2, 3], using: .ed25519))
        #expect(desk.reader.log.last?.p1 == 0x22)
    }

    @Test(arguments: profiles(with: .hashesOnCard))
    func aDigestIsNotGivenToACardThatHashes(name: String) throws {
        let desk = try desk(name)
        #expect(throws: TokenError(.unsupported, "")) { try desk.perform("9A", .sign(.ecdsa(nil), [1]), pin: "123456") }
        #expect(desk.count(0x87) == 0)
        #expect(desk.pinsSent == 0)
    }
}
