import PIVDriver
import SystemCrypto
import Testing
import TokenKit
import VirtualCard

/// Other programs at the same card.
@Suite struct InterleavingTests {
    private let digest = [UInt8](repeating: 0x5A, count: 32)

    /// Selects another application, as another program may do at any moment.
    private func selectAnother(_ desk: Desk) throws {
        let connection = try desk.reader.connect(trace: nil)
        let answer = try connection.withTransaction { (card) throws(TokenError) in
            try card.exchange(
                CommandAPDU(ins: 0xA4, p1: 0x04, p2: 0x00, data: [0xA0, 0x00, 0x00, 0x05, 0x27, 0x20, 0x01]))
        }
        connection.disconnect(resetting: false)
        #expect(answer.status == .success)
        desk.forgetCommands()
    }

    private func verify(_ signature: [UInt8], _ key: CardKeyReference) throws -> Bool {
        try IssuedCard.publicKey(key, .p256).verify(signature, digest: digest, using: .ecdsa(nil))
    }

    @Test func twoProgramsTakeTurns() throws {
        let first = try Desk()
        let second = first.anotherProgram()
        for _ in 0..<3 {
            #expect(try first.inventory().objects.count == 4)
            #expect(try second.inventory().objects.count == 4)
            #expect(try verify(first.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456"), 0x9C))
            #expect(try verify(second.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), 0x9A))
            #expect(try verify(first.perform("9A", .sign(.ecdsa(nil), digest)), 0x9A))
        }
        #expect(first.card.triesLeft == 3)
    }

    @Test func twoProgramsAtTheSameTime() async throws {
        let first = try Desk()
        let second = first.anotherProgram()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (desk, key) in [(first, "9A"), (second, "9C")] {
                group.addTask {
                    for _ in 0..<20 {
                        let signature = try desk.perform(key, .sign(.ecdsa(nil), digest), pin: "123456")
                        #expect(try verify(signature, key == "9A" ? 0x9A : 0x9C))
                        _ = try desk.inventory(.object(TokenObjectID(key)))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(first.card.triesLeft == 3)
    }

    @Test func aResetInBetweenIsNoticed() throws {
        let first = try Desk()
        let second = first.anotherProgram()
        _ = try first.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        second.slot.disconnect(resetting: true)
        _ = try second.identity()
        second.slot.disconnect(resetting: true)
        first.forgetCommands()
        #expect(throws: TokenError(.pinRequired, "")) { try first.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(first.commands.isEmpty)
        #expect(try verify(first.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), 0x9A))
        #expect(first.commands.first == 0xA4)
    }

    @Test func anotherApplicationTakesThePINAndIsNoticed() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        try selectAnother(desk)
        #expect(throws: TokenError(.pinRequired, "")) { try desk.perform("9A", .sign(.ecdsa(nil), digest)) }
        #expect(desk.pinsSent == 0)
        #expect(try verify(desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456"), 0x9A))
        #expect(desk.card.triesLeft == 3)
    }

    /// Cards with metadata for their PINs, and without.
    static let profiles: [CardProfile] = [.yubiKey57, .yubiKey43]

    private func expectNoPINElsewhere(_ desk: Desk) {
        #expect(desk.card.triesLeftElsewhere.values.allSatisfy { $0 == 3 }, "\(desk.reader.log)")
        #expect(desk.card.triesLeft == 3)
    }

    @Test(arguments: profiles)
    func thePINGoesToPIVAlone(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        _ = try desk.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456")
        try selectAnother(desk)
        #expect(try verify(desk.perform("9C", .sign(.ecdsa(nil), digest), pin: "123456"), 0x9C))
        #expect(desk.commands == [0xA4, 0x20, 0x87])
        try selectAnother(desk)
        try desk.verify()
        try selectAnother(desk)
        try desk.change(from: "123456", to: "654321")
        expectNoPINElsewhere(desk)
    }

    @Test(arguments: profiles)
    func theUnblockingKeyGoesToPIVAlone(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        try desk.verify()
        try selectAnother(desk)
        try desk.change(.unblockingKey, from: "12345678", to: "87654321")
        #expect(desk.pinsSent == 1)
        try selectAnother(desk)
        try desk.unblock("87654321", newPIN: "654321")
        #expect(desk.pinsSent == 1)
        expectNoPINElsewhere(desk)
        try selectAnother(desk)
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.unblock("00000000", newPIN: "123456") }
        #expect(desk.card.triesLeftElsewhere.values.allSatisfy { $0 == 3 })
    }

    @Test(arguments: profiles)
    func theTriesAreThoseOfPIV(profile: CardProfile) throws {
        let desk = try Desk(IssuedCard(profile: profile))
        _ = try desk.identity()
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.anotherProgram().verify("000000") }
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.anotherProgram().verify("000001") }
        try selectAnother(desk)
        #expect(try desk.status().triesLeft == 1)
        try selectAnother(desk)
        #expect(throws: TokenError(.pinLastTry, "")) { try desk.verify("000002") }
        #expect(desk.pinsSent == 0)
    }

    @Test func aWrongPINAfterAnotherApplicationCostsOneTry() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        try desk.verify()
        try selectAnother(desk)
        #expect(throws: TokenError(.pinIncorrect, "")) { try desk.verify("000000") }
        #expect(desk.card.triesLeft == 2)
    }

    @Test func listingAndReadingGoOnAfterAnotherApplication() throws {
        let desk = try Desk(IssuedCard(profile: .yubiKey57))
        _ = try desk.identity()
        try selectAnother(desk)
        let inventory = try desk.inventory()
        #expect(inventory.objects.count == 5)
        #expect(inventory.failures.isEmpty)
        try selectAnother(desk)
        #expect(try desk.status().triesLeft == 3)
        try selectAnother(desk)
        #expect(try desk.facts().contains { $0.name == "Firmware" })
    }

    @Test func everyJobWorksAfterAnotherApplication() throws {
        for job in Job.all where job.profile == .yubiKey57 {
            let desk = try job.desk()
            _ = try desk.identity()
            try selectAnother(desk)
            try job.run(desk)
            #expect(desk.card.triesLeft == 3, "\(job.testDescription)")
        }
    }

    @Test func anObjectThatIsNotThereIsAskedForTwiceAtTheMost() throws {
        let desk = try Desk(IssuedCard(keys: [0x9A: .p256]))
        _ = try desk.perform("9A", .sign(.ecdsa(nil), digest), pin: "123456")
        desk.forgetCommands()
        #expect(try desk.inventory(.object(TokenObjectID("9D"))) == TokenInventory())
        // A key without a certificate may have metadata.
        #expect(desk.commands == [0xCB, 0xA4, 0xCB, 0xF7])
        // The new selection of PIV did not end the verified state, and the driver does not believe that it did.
        #expect(try verify(desk.perform("9A", .sign(.ecdsa(nil), digest)), 0x9A))
    }
}
