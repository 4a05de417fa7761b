import Synchronization
import Testing

@testable import TokenKit

/// What a command does that asks for a card in several places.
@Suite struct WaitsOnceTests {
    /// A command looks for a key by its name, then by its label, then on cards that are out.
    @Test(arguments: [CardError.Code.inUse, .communication, .muteCard], [0, 30])
    func aCardThatWasWaitedForInVainIsNotWaitedForAgainByACommand(code: CardError.Code, seconds: Int) throws {
        let failure = Result<PreparedConnection, CardError>.failure(CardError(code, "out of reach"))
        let reader = PreparedReader(failure, failure, failure)
        let time = Mutex(ContinuousClock.now)
        let slot = TokenSlot(
            CryptokiSlotName(reader: "Reader"), reader: reader, drivers: [CountingDriver()], waitsOnce: true,
            now: {
                time.withLock { time in
                    time += .seconds(seconds)
                    return time
                }
            })
        for _ in 0..<3 { #expect(throws: TokenError(.card(code), "")) { try slot.read { (_, _, _) in } } }
        // One that failed at once may be tried again.
        #expect(reader.timesConnected == (seconds == 0 ? 3 : 1))
    }
}
