import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

@Suite struct SelectionTests {
    @Test(arguments: [5, 7, 9, 10, 11])
    func takesTheIdentifierCutOffOnTheRight(count: Int) throws {
        let card = try CardConversation()
        #expect(try card.select(Array(CardConversation.identifier.prefix(count))).status == .success)
        #expect(try card.verify() == .success)
    }

    @Test(arguments: ["", "A0000003", "A000000309", "A00000030800001000010000", "A0000005272001"])
    func knowsNoOtherApplication(name: String) throws {
        let card = try CardConversation()
        #expect(try card.select([UInt8](hex: name)).status == .objectNotFound)
    }

    @Test func answersNothingBeforeItIsSelected() throws {
        let card = try CardConversation()
        #expect(try card.getData(0x5FC102).status == .instructionNotSupported)
        #expect(try card.verify() == .instructionNotSupported)
    }

    @Test func keepsThePINWhenSelectedAgain() throws {
        let card = try CardConversation()
        try card.select()
        try card.verify()
        try card.select()
        #expect(try card.send(0x20, 0x00, 0x80, le: nil).status == .success)
    }

    @Test(arguments: [CardProfile.generic, .yubiKey54])
    func losesPIVToAnAbsentApplicationOnYubiKeysAlone(profile: CardProfile) throws {
        let card = try CardConversation(profile)
        try card.select()
        try card.verify()
        #expect(try card.select([0xA0, 0x00, 0x00, 0x00, 0x79, 0x01]).status == .objectNotFound)
        let expected: StatusWord = profile == .generic ? .success : .instructionNotSupported
        #expect(try card.send(0x20, 0x00, 0x80, le: nil).status == expected)
    }

    @Test func forgetsThePINWithTheSelection() throws {
        let card = try CardConversation(.yubiKey54)
        try card.select()
        try card.verify()
        try card.select([0xA0, 0x00, 0x00, 0x00, 0x79, 0x01])
        try card.select()
        #expect(try card.send(0x20, 0x00, 0x80, le: nil).status == 0x63C3)
    }

    @Test func isSelectedFromTheStartWhereTheProfileSaysSo() throws {
        let card = try CardConversation(.pivKey)
        #expect(try card.verify() == .success)
    }

    @Test(arguments: [
        ("yubikey-5.7", "61114F0600001000010079074F05A000000308"),
        ("giesecke-devrient", "4F06001000010000"),
        ("early-card", "4F0BA000000308000010000100"),
        ("nested-template", "61356133"),
        ("idemia-id-one", "AC06800127060100"),
        ("generic-extended", "7F66080202100002021000"),
        ("pivapplet", "501A506976"),
    ])
    func templateIsTheProfiles(name: String, part: String) throws {
        let profile = try #require(CardProfile.named(name))
        let answer = try CardConversation(profile).select()
        #expect(Hex.encode(answer.data).contains(part))
    }

    @Test func warnsWithTheTemplateWhereTheCardIsOld() throws {
        let card = try CardConversation(.earlyCard)
        let answer = try card.select()
        #expect(answer.status == .applicationDeactivated)
        #expect(!answer.data.isEmpty)
    }

    @Test(arguments: ["A0000005272001", "A000000527200101"])
    func oldYubiKeysTellTheirSerialNumberElsewhere(name: String) throws {
        let card = try CardConversation(.yubiKey43)
        try card.select()
        #expect(try card.send(0xF8, 0x00, 0x00).status == .instructionNotSupported)
        let status = try card.select([UInt8](hex: name))
        #expect(status.status == .success)
        #expect(status.data == [4, 3, 5, 0, 0, 0])
        #expect(try card.send(0x01, 0x10, 0x00).data.count == 4)
        #expect(try card.getData(0x7E).status == .instructionNotSupported)
        try card.select()
        #expect(try card.getData(0x7E).status == .success)
    }

    @Test func anotherApplicationsPINsHaveTriesOfTheirOwn() throws {
        let card = try CardConversation(.yubiKey57)
        let elsewhere = [UInt8](hex: "A0000005272001")
        try card.select(elsewhere)
        let pin = [UInt8](hex: "313233343536FFFF")
        #expect(try card.send(0x20, 0x00, 0x80, pin).status == 0x63C2)
        #expect(try card.send(0x20, 0x00, 0x80).status == 0x63C2)
        #expect(try card.send(0x24, 0x00, 0x81, pin + pin).status == 0x63C2)
        #expect(try card.send(0x2C, 0x00, 0x80, pin + pin).status == 0x63C1)
        #expect(try card.send(0x2C, 0x00, 0x80, pin + pin).status == 0x63C0)
        #expect(try card.send(0x2C, 0x00, 0x80, pin + pin).status == .authenticationMethodBlocked)
        #expect(try card.send(0x20, 0x00, 0x00, pin).status == .referenceNotFound)
        #expect(card.card.triesLeftElsewhere == [0x80: 2, 0x81: 0])
        // PIV's own tries have not changed.
        try card.select()
        #expect(try card.send(0x20, 0x00, 0x80).status == 0x63C3)
        #expect(try card.send(0x20, 0x00, 0x80, pin).status == .success)
    }

    @Test(arguments: [(UInt8(0x0C), StatusWord.secureMessagingNotSupported), (0x80, .classNotSupported)])
    func refusesClassesThatItDoesNotHave(cla: UInt8, status: StatusWord) throws {
        let card = try CardConversation()
        let command = CommandAPDU(cla: cla, ins: 0xA4, p1: 0x04, p2: 0x00, data: CardConversation.identifier)
        #expect(try card.send(command).status == status)
    }
}
