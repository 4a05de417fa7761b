import PIVDriver
import SecureBytes
import Testing
import TokenKit

@Suite struct PIVSlotTests {
    @Test func thereAreTwentyFiveInListingOrder() {
        let names = PIVSlot.allCases.map(\.objectID.rawValue)
        #expect(names.count == 25)
        #expect(names.prefix(6) == ["9A", "9C", "9D", "9E", "82", "83"])
        #expect(names.suffix(2) == ["95", "F9"])
        #expect(PIVSlot.retired.count == 20)
        #expect(PIVSlot.primary.count == 4)
    }

    @Test(arguments: PIVSlot.allCases)
    func itsNameLeadsBackToIt(slot: PIVSlot) {
        #expect(PIVSlot(slot.objectID) == slot)
        #expect(PIVSlot(TokenObjectID(slot.objectID.rawValue.lowercased())) == slot)
    }

    @Test(arguments: ["", "9", "9B", "81", "96", "9A9A", "PIV", "9A 9C"])
    func anythingElseNamesNoSlot(name: String) {
        #expect(PIVSlot(TokenObjectID(name)) == nil)
    }

    @Test(arguments: [
        (PIVSlot.authentication, "PIV Authentication", 0x5FC105), (.signature, "Digital Signature", 0x5FC10A),
        (.keyManagement, "Key Management", 0x5FC10B), (.cardAuthentication, "Card Authentication", 0x5FC101),
        (.retired1, "Retired Key Management 1", 0x5FC10D), (.retired20, "Retired Key Management 20", 0x5FC120),
        (.attestation, "Attestation", 0x5FFF01),
    ])
    func labelAndContainerAreThoseOfTheSpecification(slot: PIVSlot, label: String, tag: UInt32) {
        #expect(slot.label == label)
        #expect(slot.container.tag.rawValue == tag)
    }

    /// The numbers that OpenSC and ykcs11 use.
    @Test(arguments: [
        (PIVSlot.authentication, UInt8(1)), (.signature, 2), (.keyManagement, 3), (.cardAuthentication, 4),
        (.retired1, 5), (.retired20, 24),
    ])
    func programsKnowThemByTheirPlace(slot: PIVSlot, id: UInt8) {
        #expect(slot.cryptokiID == [id])
    }

    @Test func eachHasAnIDOfItsOwnButTheOneThatNoProgramIsShown() {
        #expect(PIVSlot.attestation.cryptokiID == nil)
        let ids = PIVSlot.allCases.compactMap(\.cryptokiID)
        #expect(Set(ids) == Set((1...24).map { [$0] }))
        #expect(ids.count == 24)
    }

    @Test func onlySignatureAndCardAuthenticationDifferInTheirPINPolicy() {
        for slot in PIVSlot.allCases {
            let expected: PINPolicy =
                slot == .signature ? .always : slot == .cardAuthentication ? .never : .once
            #expect(slot.standardPINPolicy == expected, "\(slot)")
        }
    }
}
