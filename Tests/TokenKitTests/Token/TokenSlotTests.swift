import Synchronization
import TestSupport
import Testing
import TokenKit

@Suite struct TokenSlotTests {
    /// Adds a note to the token in one reading, and returns all its notes so far.
    @discardableResult
    private static func note(_ text: String, in slot: TokenSlot) throws(TokenError) -> [String] {
        try slot.read { (token, _, _) throws(TokenError) in noted(text, by: &token) }
    }

    private static func noted(_ text: String, by token: inout any Token) -> [String] {
        guard var own = token as? NotedToken else { return [] }
        own.notes.append(text)
        token = own
        return own.notes
    }

    private static func insertion(of slot: TokenSlot) throws(TokenError) -> TokenInsertion {
        try slot.read { (_, _, insertion) throws(TokenError) in insertion }
    }

    private static func failing(_ code: CardError.Code) -> TokenError { TokenError(CardError(code, "as scripted")) }

    @Test func aBriefJobIsDoneAgainInATransactionOfItsOwnAfterAReset() throws {
        let connection = PreparedConnection(.wellAndGood, .failure(.reset), .afterReset)
        let slot = TokenSlot(reader: PreparedReader(.success(connection)), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        let epoch = try slot.performBriefly(at: insertion) { (_, card) throws(TokenError) in card.epoch }
        #expect(epoch == 1)
        #expect(connection.holds == [.fromTheStart, .fromTheSecondCommand, .fromTheStart])
    }

    @Test func aBriefJobIsDoneOnceWhateverElseGoesWrong() throws {
        let codes = CardError.Code.allCases.filter { $0 != .reset }
        for code in codes {
            let connection = PreparedConnection(.wellAndGood, .failure(code))
            let slot = TokenSlot(reader: PreparedReader(.success(connection)), drivers: [CountingDriver()])
            let insertion = try Self.insertion(of: slot)
            #expect(throws: Self.failing(code)) { try slot.performBriefly(at: insertion) { (_, _) in } }
            #expect(connection.holds.count == 2)
        }
    }

    @Test func aBriefJobIsNotDoneWithAnotherCard() throws {
        let slot = TokenSlot(
            reader: PreparedReader(.success(PreparedConnection()), .success(PreparedConnection())),
            drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        slot.disconnect(resetting: false)
        _ = try Self.insertion(of: slot)
        #expect(throws: Self.failing(.removed)) {
            try slot.performBriefly(at: insertion) { (_, _) in Issue.record("the card is another one") }
        }
    }

    // MARK: - Waiting for other programs

    @Test func onlyWhatWasWaitedForTheSameHoldingCounts() throws {
        let arrival = ContinuousClock.now
        let connection = PreparedConnection(.wellAndGood, .failure(.inUse), .failure(.inUse))
        let slot = TokenSlot(reader: PreparedReader(.success(connection)), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        // The card was free meanwhile, so that the wait begins anew.
        #expect(connection.waits[0].start > arrival)
        let before = ContinuousClock.now
        #expect(throws: Self.failing(.inUse)) { try slot.perform(at: insertion.waiting(since: arrival)) { (_, _) in } }
        #expect(connection.waits[1].start >= before)
        // A call that waited behind the last one has the same beginning of its wait, or its own if that is later.
        #expect(throws: Self.failing(.inUse)) { try slot.perform(at: insertion.waiting(since: arrival)) { (_, _) in } }
        #expect(connection.waits[2].start == connection.waits[1].start)
        let later = ContinuousClock.now
        try slot.perform(at: insertion.waiting(since: later)) { (_, _) in }
        #expect(connection.waits[3].start == later)
        // The card was free again.
        try slot.perform(at: insertion.waiting(since: arrival)) { (_, _) in }
        #expect(connection.waits[4].start > later)
    }

    @Test func afterTheEndOfWaitsNothingIsConnectedToAndNobodyWaits() throws {
        let connection = PreparedConnection()
        let reader = PreparedReader(.success(connection))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        #expect(!connection.waits[0].isCancelled)
        slot.endWaits()
        try slot.perform(at: insertion) { (_, _) in }
        #expect(connection.waits.allSatisfy { $0.isCancelled })
        slot.disconnect(resetting: false)
        #expect(throws: Self.failing(.cancelled)) { try Self.insertion(of: slot) }
        #expect(reader.timesConnected == 1)
    }

    // MARK: - Logging out

    @Test(arguments: [CardError.Code.malformed, .inUse])
    func aLogoutThatIsOwedIsGivenUpWhereTheCardAnswersNonsenseAndNotWhereItIsHeld(code: CardError.Code) throws {
        let connection = PreparedConnection(
            [.wellAndGood, .failure(.inUse)] + Array(repeating: .failure(code), count: 10) + [.failure(code)])
        let slot = TokenSlot(reader: PreparedReader(.success(connection)), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        #expect(throws: Self.failing(.inUse)) { try slot.logOut(at: insertion) }
        slot.disconnect(resetting: false)
        // There is no other user of the connection, so that it ends with the last attempt.
        #expect(eventually { connection.disconnections == [false] })
        #expect(connection.transactions == (code == .inUse ? 14 : 12))
    }

    // MARK: - Connecting and recognising

    @Test func oneConnectionAndOneRecognitionServeEveryCall() throws {
        let (reader, driver) = (PreparedReader(.success(PreparedConnection())), CountingDriver())
        let slot = TokenSlot(reader: reader, drivers: [driver])
        #expect(slot.name == "Reader")
        #expect(reader.timesConnected == 0, "nothing is done before it is needed")
        #expect(try Self.note("a", in: slot) == ["a"])
        #expect(try Self.note("b", in: slot) == ["a", "b"])
        #expect(reader.timesConnected == 1)
        #expect(driver.timesAsked == 1)
    }

    @Test func aLabelIsKnownOfTheInsertionThatWasReadAndCostsNothing() throws {
        let (first, second) = (PreparedConnection(), PreparedConnection())
        let slot = TokenSlot(
            reader: PreparedReader(.success(first), .success(second)), drivers: [CountingDriver("noted")])
        let insertion = try Self.insertion(of: slot)
        #expect(slot.knownLabel(at: insertion) == "noted")
        #expect(first.transactions == 1)
        slot.disconnect(resetting: false)
        #expect(slot.knownLabel(at: insertion) == nil)
        let next = try Self.insertion(of: slot)
        #expect(slot.knownLabel(at: insertion) == nil)
        #expect(slot.knownLabel(at: next) == "noted")
        #expect(second.transactions == 1)
    }

    @Test func driversAreAskedInTheirOrderUntilOneKnowsTheCard() throws {
        let no = CountingDriver("no", .success(false))
        let (yes, never) = (CountingDriver("yes"), CountingDriver("never"))
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [no, yes, never])
        let identity = try slot.read { (token, card, _) throws(TokenError) in try token.identity(&card) }
        #expect(identity.id.driver == "yes")
        #expect([no, yes, never].map(\.timesAsked) == [1, 1, 0])
    }

    @Test func aCardThatNobodyKnowsIsNotProbedAgainWhileItStaysIn() throws {
        let driver = CountingDriver("no", .success(false))
        let (first, second) = (PreparedConnection(.wellAndGood, .wellAndGood, .failure(.removed)), PreparedConnection())
        let slot = TokenSlot(reader: PreparedReader(.success(first), .success(second)), drivers: [driver])
        for _ in 0..<2 {
            #expect(throws: TokenError(.unrecognized, "")) { try Self.note("", in: slot) }
        }
        #expect(driver.timesAsked == 1)
        #expect(throws: TokenError(.unrecognized, "")) { try Self.note("", in: slot) }
        #expect(driver.timesAsked == 2, "the next card is another one")
    }

    @Test func aFailureWhileRecognisingIsTheFailureAndIsNotRemembered() throws {
        let driver = CountingDriver("failing", .failure(TokenError(.malformed, "")))
        let slot = TokenSlot(
            reader: PreparedReader(.success(PreparedConnection())), drivers: [driver, CountingDriver()])
        for times in 1...2 {
            #expect(throws: TokenError(.malformed, "")) { try Self.note("", in: slot) }
            #expect(driver.timesAsked == times)
        }
    }

    @Test(arguments: CardError.Code.allCases)
    func whyThereIsNoConnectionComesThrough(code: CardError.Code) throws {
        let error = CardError(code, "as prepared")
        let reader = PreparedReader(.failure(error), .failure(error), .success(PreparedConnection()))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        #expect(throws: Self.failing(code)) { try slot.perform(at: Self.insertion(of: slot)) { (_, _) in } }
        #expect(reader.timesConnected <= 2)
    }

    // MARK: - Reading

    @Test func whatATokenLearnedHoldsWhereTheCallFails() throws {
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [CountingDriver()])
        #expect(throws: TokenError(.notFound, "")) {
            try slot.read { (token, _, _) throws(TokenError) in
                _ = Self.noted("a", by: &token)
                throw TokenError(.notFound, "")
            }
        }
        #expect(try Self.note("b", in: slot) == ["a", "b"])
    }

    @Test func aReadingThatAnotherProgramsResetInterruptsIsRepeated() throws {
        let connection = PreparedConnection(.wellAndGood, .afterReset)
        let slot = TokenSlot(reader: PreparedReader(.success(connection)), drivers: [CountingDriver()])
        var epochs: [Int] = []
        try slot.read { (_, card, _) throws(TokenError) in
            epochs.append(card.epoch)
            if epochs.count == 1 { throw Self.failing(.reset) }
        }
        #expect(epochs == [0, 1])
        #expect(connection.disconnections.isEmpty)
    }

    @Test(arguments: [CardError.Code.removed, .serviceUnavailable])
    func aReadingThatLosesItsConnectionIsRepeatedOnANewOne(code: CardError.Code) throws {
        let (first, second) = (PreparedConnection(.wellAndGood, .failure(code)), PreparedConnection())
        let reader = PreparedReader(.success(first), .success(second))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        let before = try Self.insertion(of: slot)
        #expect(try Self.note("b", in: slot) == ["b"], "the token of the new card knows nothing of the old one's")
        #expect(try Self.insertion(of: slot) != before)
        #expect(first.disconnections == [false])
        #expect(reader.timesConnected == 2)
    }

    @Test func aServiceThatWasStartedAnewIsGivenAMomentToFindItsCards() throws {
        let (first, second) = (
            PreparedConnection(.wellAndGood, .failure(.serviceUnavailable)), PreparedConnection()
        )
        let reader = PreparedReader(
            .success(first), .failure(CardError(.serviceUnavailable, "")), .failure(CardError(.noReader, "")),
            .failure(CardError(.noCard, "")), .success(second), .failure(CardError(.noCard, "")))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        _ = try Self.insertion(of: slot)
        #expect(throws: Self.failing(.serviceUnavailable)) { try Self.insertion(of: slot) }
        #expect(throws: Never.self) { try Self.insertion(of: slot) }
        #expect(reader.timesConnected == 5)
        // A card that is taken out of a reader of the same service is out.
        slot.disconnect(resetting: false)
        #expect(throws: Self.failing(.noCard)) { try Self.insertion(of: slot) }
        #expect(reader.timesConnected == 6)
    }

    @Test func aReadingIsRepeatedOnce() throws {
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [CountingDriver()])
        var count = 0
        #expect(throws: Self.failing(.reset)) {
            try slot.read { (_, _, _) throws(TokenError) in
                count += 1
                throw Self.failing(.reset)
            }
        }
        #expect(count == 2)
    }

    @Test func aCardThatWasTakenOutForGoodIsNoCard() throws {
        let slot = TokenSlot(
            reader: PreparedReader(.success(PreparedConnection(.failure(.removed)))), drivers: [CountingDriver()])
        #expect(throws: Self.failing(.noCard)) { try Self.note("", in: slot) }
    }

    @Test func anApplicationThatFailedIsResetAndAskedOnceMore() throws {
        let (first, second) = (PreparedConnection(), PreparedConnection())
        let slot = TokenSlot(reader: PreparedReader(.success(first), .success(second)), drivers: [CountingDriver()])
        var count = 0
        try slot.read { (_, _, _) throws(TokenError) in
            count += 1
            if count == 1 { throw TokenError(.malformed, "", status: .noPreciseDiagnosis) }
        }
        #expect(count == 2)
        #expect(first.disconnections == [true])
        #expect(second.disconnections.isEmpty)
    }

    // MARK: - Performing

    @Test func whatIsPerformedIsPerformedOnTheTokenThatWasRead() throws {
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        let notes = try slot.perform(at: insertion) { (token, _) throws(TokenError) in Self.noted("a", by: &token) }
        #expect(notes == ["a"])
        #expect(try Self.note("b", in: slot) == ["a", "b"])
    }

    @Test(arguments: CardError.Code.allCases)
    func whatIsPerformedIsPerformedOnceWhateverHappens(code: CardError.Code) throws {
        let reader = PreparedReader(.success(PreparedConnection()), .success(PreparedConnection()))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        var count = 0
        #expect(throws: Self.failing(code)) {
            try slot.perform(at: insertion) { (_, _) throws(TokenError) in
                count += 1
                throw Self.failing(code)
            }
        }
        #expect(count == 1)
        #expect(reader.timesConnected == 1)
    }

    @Test func anApplicationThatFailedIsNotAskedAgain() throws {
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        var count = 0
        #expect(throws: TokenError(.malformed, "")) {
            try slot.perform(at: insertion) { (_, _) throws(TokenError) in
                count += 1
                throw TokenError(.malformed, "", status: .noPreciseDiagnosis)
            }
        }
        #expect(count == 1)
    }

    @Test func nothingIsPerformedOnACardThatTookThePlaceOfAnother() throws {
        let (first, second) = (PreparedConnection(.wellAndGood, .failure(.removed)), PreparedConnection())
        let reader = PreparedReader(.success(first), .success(second))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        let perform = {
            try slot.perform(at: insertion) { (_, _) throws(TokenError) in Issue.record("the card is another one") }
        }
        // The slot detects the other card, and remembers it, also after the new card was read.
        #expect(throws: Self.failing(.removed)) { try perform() }
        #expect(throws: Self.failing(.removed)) { try perform() }
        #expect(second.transactions == 0)
        #expect(try Self.insertion(of: slot) != insertion)
        #expect(throws: Self.failing(.removed)) { try perform() }
        #expect(second.transactions == 1)
    }

    // MARK: - Connections

    @Test(arguments: CardError.Code.allCases)
    func onlyAFailureOfTheConnectionEndsIt(code: CardError.Code) throws {
        let (first, second) = (PreparedConnection(), PreparedConnection())
        let slot = TokenSlot(reader: PreparedReader(.success(first), .success(second)), drivers: [CountingDriver()])
        let insertion = try Self.insertion(of: slot)
        try? slot.perform(at: insertion) { (_, _) throws(TokenError) in throw Self.failing(code) }
        let ending: Set<CardError.Code> = [
            .removed, .noCard, .noReader, .muteCard, .serviceUnavailable, .communication,
        ]
        #expect(first.disconnections == (ending.contains(code) ? [false] : []))
        #expect(try (Self.insertion(of: slot) == insertion) == !ending.contains(code))
    }

    @Test func aResetConnectsForItWhereNeededAndForgetsTheToken() throws {
        let connections = (0..<3).map { _ in PreparedConnection() }
        let reader = PreparedReader(.success(connections[0]), .success(connections[1]), .success(connections[2]))
        let slot = TokenSlot(reader: reader, drivers: [CountingDriver()])
        try slot.reset()
        #expect(connections[0].disconnections == [true])
        #expect(try Self.note("a", in: slot) == ["a"])
        let insertion = try Self.insertion(of: slot)
        try slot.reset()
        #expect(connections[1].disconnections == [true])
        #expect(throws: TokenError(.card(.removed), "")) {
            try slot.perform(at: insertion) { (_, _) throws(TokenError) in }
        }
        #expect(try Self.note("b", in: slot) == ["b"])
        #expect(throws: TokenError(.card(.noCard), "")) {
            try TokenSlot(reader: PreparedReader(), drivers: []).reset()
        }
    }

    @Test(arguments: [true, false])
    func lettingGoOfTheCardIsDoneAsToldAndReadingConnectsAgain(resetting: Bool) throws {
        let (first, second) = (PreparedConnection(), PreparedConnection())
        let slot = TokenSlot(reader: PreparedReader(.success(first), .success(second)), drivers: [CountingDriver()])
        slot.disconnect(resetting: resetting)
        try Self.note("a", in: slot)
        slot.disconnect(resetting: resetting)
        #expect(first.disconnections == [resetting])
        #expect(try Self.note("b", in: slot) == ["b"])
    }

    @Test func callsOfManyThreadsQueue() async throws {
        let slot = TokenSlot(reader: PreparedReader(.success(PreparedConnection())), drivers: [CountingDriver()])
        let inside = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        try slot.read { (token, _, _) throws(TokenError) in
                            inside.enter()
                            _ = Self.noted("", by: &token)
                            inside.leave()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(inside.highest == 1)
        #expect(try Self.note("", in: slot).count == 401)
    }

    private final class Counter: Sendable {
        private let count = Atomic(0)
        private let maximum = Atomic(0)
        var highest: Int { maximum.load(ordering: .relaxed) }
        func enter() { maximum.max(count.add(1, ordering: .relaxed).newValue, ordering: .relaxed) }
        func leave() { count.subtract(1, ordering: .relaxed) }
    }
}
