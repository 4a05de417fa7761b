import PIVDriver
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// Data objects: the possible ones, the present ones, and the commands to know them.
@Suite struct DataObjectTests {
    @Test func everyContainerThatIsNoSlotsCertificateMayBeThere() throws {
        let possible = try Desk().slot.read { (token, _, _) in token.possibleData }
        #expect(
            possible.map(\.id.rawValue) == [
                "card-capability", "chuid", "fingerprints", "security-object", "facial-image", "printed-information",
                "discovery", "key-history", "iris-images", "biometric-group-template", "secure-messaging-signer",
                "pairing-code",
            ])
        #expect(possible.map(\.label).prefix(2) == ["Card Capability Container", "Card Holder Unique Identifier"])
        #expect(
            possible.filter(\.needsPIN).map(\.id.rawValue) == [
                "fingerprints", "facial-image", "printed-information", "iris-images", "pairing-code",
            ])
        #expect(possible[0].objectIdentifier == .init(hex: "060B6086480165030701815B00"))
    }

    @Test func aLookCostsOneCommandHoweverLargeTheObjectIs() throws {
        let large = [UInt8](repeating: 0xBC, count: 1_300)
        let desk = try Desk(IssuedCard(objects: [0x5FC106: large, 0x5FC10C: [0xC1, 1, 0]]))
        _ = try desk.identity()
        desk.forgetCommands()
        #expect(try desk.look(for: "security-object") == .present)
        #expect(try desk.look(for: "key-history") == .whole([0xC1, 1, 0]))
        #expect(try desk.look(for: "biometric-group-template") == .absent)
        #expect(try desk.content(of: "security-object") == large)
        #expect(desk.reader.log.count { !$0.isContinuation && $0.ins == 0xCB && $0.dataCount == 5 } == 3)
    }

    @Test func whatWantsThePINIsToldApartFromWhatIsNotThere() throws {
        let desk = try Desk(IssuedCard(objects: [0x5FC109: [0x01, 1, 0x41], 0x5FC108: nil]))
        let error = #expect(throws: TokenError.self) { try desk.look(for: "printed-information") }
        #expect(error?.code == .pinRequired)
        try desk.verify()
        #expect(try desk.look(for: "printed-information") == .whole([0x01, 1, 0x41]))
        #expect(try desk.look(for: "facial-image") == .absent)
        #expect(try desk.content(of: "facial-image") == nil)
    }

    @Test func whatAListingReadIsKnownToBeThereAndWhatWantsThePINIsNot() throws {
        let desk = try Desk(IssuedCard(keyHistory: 0, objects: [0x5FC109: [0x01, 1, 0x41]]))
        _ = try desk.identity()
        _ = try desk.inventory()
        try desk.verify()
        _ = try desk.look(for: "printed-information")
        #expect(try desk.knownData().isSuperset(of: ["chuid", "key-history"]))
        #expect(try desk.knownData().isDisjoint(with: ["printed-information", "security-object"]))
    }

    @Test(arguments: ["", "9A", "CHUID", "nothing"])
    func noOtherNameIsADataObject(name: String) throws {
        let desk = try Desk()
        #expect(try desk.look(for: name) == .absent)
        #expect(try desk.content(of: name) == nil)
        #expect(desk.count(0xCB) == 0)
    }

    @Test func anEmptyObjectIsNone() throws {
        let desk = try Desk(IssuedCard(objects: [0x5FC106: []]))
        #expect(try desk.look(for: "security-object") == .absent)
        #expect(try desk.content(of: "security-object") == nil)
    }
}
