import CryptokiNames
import Synchronization
import Testing

@testable import TokenKit

/// A command that looks for a card in several places waits for it once.
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
        // A connection that failed at once may be tried again.
        #expect(reader.timesConnected == (seconds == 0 ? 3 : 1))
    }
}
