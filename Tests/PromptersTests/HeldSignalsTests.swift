import Glibc
import TestSupport
import Testing

@testable import Prompters

@Suite(.serialized) struct HeldSignalsTests {
    /// A signal that no other test and no program here handles.
    private let number = SIGUSR2

    private var isStandard: Bool {
        var current = sigaction()
        return sigaction(number, nil, &current) == 0 && current.__sigaction_handler.sa_handler == nil
    }

    @Test func theLastOfSeveralHoldersLetsTheSignalsThrough() {
        let (first, second) = (HeldSignals([number]), HeldSignals([number]))
        first.release()
        #expect(!isStandard, "the second still has a terminal to bring back")
        second.release()
        // Other tests may hold signals of their own meanwhile, and the last holder of all lets them through.
        #expect(eventually { isStandard })
    }

    @Test func aSignalThatAProgramHandlesIsLeftToIt() {
        var own = sigaction()
        own.__sigaction_handler.sa_handler = { _ in }
        sigaction(number, &own, nil)
        let held = HeldSignals([number])
        raise(number)
        #expect(!held.hasCome)
        held.release()
        #expect(!isStandard)
        own.__sigaction_handler.sa_handler = nil
        sigaction(number, &own, nil)
    }
}
