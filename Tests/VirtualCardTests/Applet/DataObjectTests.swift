import SecureBytes
import TestSupport
import Testing
import TokenKit
import VirtualCard

/// The 36 containers of SP 800-73-5 part 1.
private let containers: [TLVTag] =
    [
        0x5FC107, 0x5FC102, 0x5FC105, 0x5FC103, 0x5FC106, 0x5FC108, 0x5FC101, 0x5FC10A, 0x5FC10B, 0x5FC109, 0x7E,
        0x5FC10C, 0x5FC121, 0x7F61, 0x5FC122, 0x5FC123,
    ] + (0..<20).map { TLVTag(rawValue: 0x5FC10D + $0) }

private let behindPIN: Set<TLVTag> = [0x5FC103, 0x5FC108, 0x5FC109, 0x5FC121, 0x5FC123]

private func managed(_ profile: CardProfile = .generic) throws -> CardConversation {
    let card = try CardConversation(profile)
    try card.select()
    #expect(try card.authenticate() == .success)
    return card
}

@Suite struct DataObjectTests {
    @Test(arguments: containers)
    func everyContainerGivesBackWhatWasPut(tag: TLVTag) throws {
        let card = try managed()
        let value = [UInt8](repeating: 0xA5, count: 300)
        #expect(try card.putData(tag, value) == .success)
        if behindPIN.contains(tag) {
            #expect(try card.getData(tag).status == .securityStatusNotSatisfied)
            try card.verify()
        }
        let answer = try card.getData(tag)
        #expect(answer.status == .success)
        let outer: TLVTag = tag == 0x7E || tag == 0x7F61 ? tag : 0x53
        #expect(try TLVReader.only(outer, in: answer.data).value == value)
    }

    @Test func thereAre36Containers() {
        #expect(Set(containers).count == 36)
    }

    @Test func nothingIsPutWithoutTheManagementKey() throws {
        let card = try CardConversation()
        try card.select()
        try card.verify()
        #expect(try card.putData(0x5FC102, [1, 2, 3]) == .securityStatusNotSatisfied)
        #expect(try card.getData(0x5FC102).status == .objectNotFound)
    }

    @Test func anEmptyObjectIsDeleted() throws {
        let card = try managed()
        try card.putData(0x5FC105, [1])
        try card.putData(0x5FC105, [])
        #expect(try card.getData(0x5FC105).status == .objectNotFound)
    }

    @Test func theDiscoveryObjectIsPutUnderItsOwnTag() throws {
        let card = try managed()
        let discovery = TLV(0x7E, [TLV(0x4F, CardConversation.identifier), TLV(0x5F2F, [0x60, 0x20])])
        #expect(try card.send(0xDB, 0x3F, 0xFF, discovery.encoded(), le: nil).status == .success)
        #expect(try card.getData(0x7E).data == discovery.encoded())
    }

    @Test(arguments: [("yubikey-neo", 2048), ("yubikey-5.7", 3063), ("generic", 16_384)])
    func objectsHaveALimit(name: String, limit: Int) throws {
        let card = try managed(#require(CardProfile.named(name)))
        // A card accepts no command longer than its buffer, even if the object may be longer.
        let most = min(limit, 4080)
        #expect(try card.putData(0x5FC105, Array(repeating: 1, count: most)) == .success)
        let tooMuch = try card.putData(0x5FC105, Array(repeating: 1, count: limit + 1))
        #expect(tooMuch == (limit > most ? .wrongLength : .notEnoughMemory))
        #expect(try card.getData(0x5FC105).data.count == most + 4)
    }

    @Test(arguments: [
        ("5C035FC1FF", StatusWord.objectNotFound), ("5C00", .incorrectData), ("5C04", .incorrectData),
        ("5C045FC10200", .incorrectData), ("53035FC102", .incorrectData), ("5C035FC10200", .incorrectData),
    ])
    func anImproperTagListIsRefused(list: String, status: StatusWord) throws {
        let card = try CardConversation()
        try card.select()
        #expect(try card.send(0xCB, 0x3F, 0xFF, [UInt8](hex: list)).status == status)
    }

    @Test(arguments: [UInt8(0x00), 0x3F])
    func otherParametersAreRefused(p1: UInt8) throws {
        let card = try CardConversation()
        try card.select()
        #expect(try card.send(0xCB, p1, 0x00, [0x5C, 0x01, 0x7E]).status == .incorrectParameters)
    }

    @Test func yubiKeysStoreWhatTheyDoNotKnow() throws {
        let card = try managed(.yubiKey57)
        #expect(try card.putData(0x5FFF00, [0x80, 0x00]) == .success)
        #expect(try card.getData(0x5FFF00).data == [0x53, 0x02, 0x80, 0x00])
        #expect(try managed(.generic).putData(0x5FFF00, [0x80, 0x00]) == .objectNotFound)
    }
}

@Suite struct DataObjectQuirkTests {
    @Test func anAbsentObjectIsEmptyOnSomeCards() throws {
        let card = try CardConversation(.solo)
        try card.select()
        #expect(try card.getData(0x5FC105) == ResponseAPDU(data: [0x53, 0x00], status: .success))
    }

    @Test func anAbsentObjectTakesItsTimeOnSomeCards() throws {
        let clock = SimulatedClock()
        let card = CardConversation(try VirtualCard(profile: .nitrokey, clock: clock))
        try card.select()
        #expect(try card.getData(0x5FC105).status == .objectNotFound)
        #expect(clock.now == .milliseconds(127))
    }

    @Test func aMissingDiscoveryObjectIsIncorrectDataOnDualCards() throws {
        let card = try CardConversation(.dualCAC)
        try card.select()
        #expect(try card.getData(0x7E).status == .incorrectData)
    }

    @Test func protectedObjectsAreHiddenBeforeThePINOnSomeCards() throws {
        let card = try managed(.dualCAC)
        try card.putData(0x5FC109, [0x01, 0x00])
        #expect(try card.getData(0x5FC109).status == .objectNotFound)
        try card.verify()
        #expect(try card.getData(0x5FC109).status == .success)
    }

    @Test func objectsComeBareOnTheDemonstrationCard() throws {
        let card = try managed(.betaNIST)
        try card.putData(0x5FC105, [0x70, 0x01, 0xAA])
        #expect(try card.getData(0x5FC105).data == [0x70, 0x01, 0xAA])
    }

    @Test func objectsArePaddedOnEarlyCards() throws {
        let card = try managed(.earlyCard)
        try card.putData(0x5FC105, [0x70, 0x01, 0xAA])
        #expect(try card.getData(0x5FC105).data == [0x53, 0x03, 0x70, 0x01, 0xAA, 0x00, 0x00])
    }

    @Test func littleCanBeReadOverTheAir() throws {
        let card = try CardConversation(.contactless)
        try card.select()
        #expect(try card.getData(0x7E).status == .success)
        #expect(try card.getData(0x5FC102).status == .objectNotFound)
        #expect(try card.getData(0x5FC101).status == .objectNotFound)
        #expect(try card.getData(0x5FC105).status == .securityStatusNotSatisfied)
        #expect(try card.verify() == .securityStatusNotSatisfied)
    }
}
