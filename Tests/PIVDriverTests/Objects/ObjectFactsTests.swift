import SecureBytes
import TestSupport
import Testing
import TokenKit

@testable import PIVDriver

/// The facts of data objects, for people to read.
@Suite struct ObjectFactsTests {
    private func lines(_ container: PIVContainer, _ content: [UInt8]) throws -> [String] {
        try container.facts(of: content).map { "\($0.name): \($0.value)" }
    }

    @Test func theCHUIDTellsItsNumbers() throws {
        #expect(
            try lines(.chuid, Fixture.chuid) == [
                "GUID: 7b13d0e6-1f6e-478e-a0aa-be0f9ad64a6c", "FASC-N: 4700-0256-001337-1-1",
                "Cardholder UUID: db175391-4749-4a32-977d-7a3843775e8a", "Expires: 2032-12-02",
            ])
    }

    @Test func theOthersTellWhatTheyAreThereFor() throws {
        #expect(try lines(.discovery, Fixture.discovery) == ["PIN policy: PIV PIN; primary PIV PIN"])
        #expect(
            try lines(.keyHistory, Fixture.keyHistoryWithURL).first == "Retired keys: 2 on the card, 3 elsewhere")
        #expect(try lines(.printedInformation, Fixture.printed).first == "Name: Golden PIV")
        #expect(
            try lines(.securityObject, Fixture.securityObject) == [
                "Signed containers: 3000 6030 6010 3001", "Signed data: 3 bytes",
            ])
        #expect(
            try lines(.cardCapability, Fixture.cardCapability)
                == ["Card capability identifier: A00000007950495620322E332E3220636172642020"])
    }

    @Test func `Programs get words and numbers by keys that stay`() throws {
        func parts(_ container: PIVContainer, _ content: [UInt8]) throws -> [String: TokenFact.Plain] {
            try container.facts(of: content).reduce(into: [:]) { $0.merge($1.parts) { first, _ in first } }
        }
        #expect(
            try parts(.discovery, Fixture.discovery)
                == ["pinPolicy": .list(["application"]), "primaryPIN": .text("application")])
        let history = try parts(.keyHistory, Fixture.keyHistoryWithURL)
        #expect(history["retiredKeysOnCard"] == .number(2) && history["retiredKeysElsewhere"] == .number(3))
        #expect(history.keys.sorted() == ["retiredKeysElsewhere", "retiredKeysOnCard", "retiredKeysURL"])
        #expect(
            try parts(.securityObject, Fixture.securityObject) == [
                "signedContainers": .list(["3000", "6030", "6010", "3001"]), "signedDataLength": .number(3),
            ])
        #expect(try parts(.printedInformation, Fixture.printed)["name"] == .text("Golden PIV"))
        #expect(try parts(.chuid, Fixture.chuid)["expires"] == .text("2032-12-02"))
    }

    @Test(arguments: [PIVContainer.authenticationCertificate, .retiredCertificate(20), .secureMessagingSigner])
    func aCertificateTellsWhoseItIs(container: PIVContainer) throws {
        let content = TLV(0x70, Fixture.certificate).encoded() + TLV(0x71, [0x00]).encoded() + [0xFE, 0x00]
        let lines = try lines(container, content)
        #expect(lines.count == 7)
        #expect(lines[0].hasPrefix("Subject: CN="))
        #expect(lines.contains("Key: EC P-256"))
        #expect(throws: TokenError(.malformed, "")) { try container.facts(of: [0x70, 0x02, 0x30, 0x00]) }
    }

    @Test func whatNobodyTakesApartSaysNothing() throws {
        #expect(try PIVContainer.facialImage.facts(of: [1, 2, 3]).isEmpty)
        #expect(PIVContainer.all.filter(\.holdsCertificate).count == 26)
    }
}
