import TestSupport
import Testing
import TokenKit

@testable import VirtualCard

@Suite struct CardProfileTests {
    @Test func namesAreUnique() {
        #expect(Set(CardProfile.all.map(\.name)).count == CardProfile.all.count)
        #expect(CardProfile.named("no such card") == nil)
    }

    @Test func everyQuirkIsShownByAProfile() {
        let shown = CardProfile.all.reduce(into: Set<CardQuirk>()) { $0.formUnion($1.quirks) }
        #expect(Set(CardQuirk.allCases).subtracting(shown) == [])
    }

    @Test(arguments: CardProfile.all)
    func theAnswerToResetIsWellFormed(profile: CardProfile) {
        let atr = profile.atr
        #expect(atr.first == 0x3B)
        #expect(atr.count <= ATR.maximumLength)
        let historical = Int(atr[1] & 0x0F)
        #expect(ATR(atr).historicalBytes.count == historical)
        // A card with only T=0 has no check byte. ISO/IEC 7816-3 §8.2.5.
        let end = atr.count - historical
        let hasCheck = profile.transport.transmissionProtocol == .t1 || atr.dropFirst().reduce(0, ^) == 0
        if hasCheck { #expect(atr.dropFirst().reduce(0, ^) == 0) }
        #expect(end >= 2)
    }

    @Test(arguments: CardProfile.all)
    func onlyT1AnnouncesExtendedLength(profile: CardProfile) {
        let transport = profile.transport
        if transport.transmissionProtocol == .t0 { #expect(!transport.takesExtendedLength) }
        if transport.announcesExtendedLength { #expect(transport.takesExtendedLength) }
    }

    @Test func theProtocolOfACardIsTheATRs() {
        for profile in CardProfile.all {
            // The low nibble of TD1, if there is one, names the first protocol.
            let indicator = profile.atr[1] >> 4
            let position = 2 + (indicator & 0x07).nonzeroBitCount
            let first = indicator & 0x08 == 0 ? 0 : profile.atr[position] & 0x0F
            let expected: CardTransport.TransmissionProtocol =
                first == 0 && profile.transport.interface == .contact && !isContactless(profile) ? .t0 : .t1
            #expect(profile.transport.transmissionProtocol == expected, "\(profile.name)")
        }
    }

    /// Contactless ATRs offer both protocols and use neither.
    private func isContactless(_ profile: CardProfile) -> Bool {
        profile.atr.starts(with: [0x3B, 0x80, 0x80, 0x01]) || profile.atr.starts(with: [0x3B, 0x8D, 0x80, 0x01])
    }

    @Test func firmwareIsComparedByNumber() {
        #expect(Firmware(5, 10, 0) > Firmware(5, 7, 9))
        #expect(Firmware(4, 3, 5) < Firmware(5, 0, 0))
        #expect(Firmware(5, 4, 3).description == "5.4.3")
    }
}

@Suite struct CardSecretTests {
    @Test func doesNotShowItsBytes() {
        let secret = CardSecret([0x12, 0x34])
        #expect("\(secret)" == "[2 bytes]")
        #expect(String(reflecting: secret) == "[2 bytes]")
        var dump = ""
        Swift.dump(ReferenceData("123456", limit: 3), to: &dump)
        #expect(!dump.contains("49") && !dump.contains("123456"))
    }

    @Test(
        arguments: [([1, 2, 3], true), ([1, 2], false), ([1, 2, 4], false), ([], false), ([1, 2, 3, 4], false)]
            as [([UInt8], Bool)])
    func matchesItselfAlone(candidate: [UInt8], isMatch: Bool) {
        #expect(CardSecret([1, 2, 3]).matches(candidate) == isMatch)
    }
}
