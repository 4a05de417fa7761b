import Glibc
import Synchronization
import Testing

@testable import Platform

@Suite struct BlockingThreadTests {
    @Test func aCallThatReturnsInTimeGivesItsValue() {
        #expect(BlockingThread.run(atMost: .seconds(60)) { 42 } == 42)
    }

    @Test func aCallThatTakesTooLongIsLeftBehindAndItsValueDropped() {
        final class Dropped: Sendable {
            let signal: CountingSemaphore
            init(_ signal: CountingSemaphore) { self.signal = signal }
            deinit { signal.signal() }
        }
        let (mayGoOn, isDropped) = (CountingSemaphore(), CountingSemaphore())
        let value = BlockingThread.run(atMost: .milliseconds(1)) {
            mayGoOn.wait()
            return Dropped(isDropped)
        }
        #expect(value == nil)
        #expect(!isDropped.wait(for: .zero))
        mayGoOn.signal()
        #expect(isDropped.wait(for: .seconds(60)))
    }

    @Test func ofManyCallsNoneHoldsUpAnotherNorTheCallerBeyondItsTime() {
        let (returned, isReleased) = (CountingSemaphore(), CountingSemaphore())
        let calls: [@Sendable () -> Void] = [
            { _ = isReleased.wait(for: .seconds(60)) }, { returned.signal() }, { returned.signal() },
        ]
        BlockingThread.runAll(calls, atMost: .milliseconds(100))
        // The first call still waits.
        for _ in 1...2 { #expect(returned.wait(for: .seconds(60))) }
        isReleased.signal()
        BlockingThread.runAll([{ returned.signal() }], atMost: .seconds(60))
        #expect(returned.wait(for: .zero))
    }

    @Test func aThreadTakesNoSignalsOfTheProgram() {
        let before = Self.blockedSignals()
        let blocked = BlockingThread.run(atMost: .seconds(60)) { Self.blockedSignals() }
        #expect(blocked?.isSuperset(of: [SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGALRM]) == true)
        #expect(Self.blockedSignals() == before, "the starter's own mask is as it was")
    }

    private static func blockedSignals() -> Set<Int32> {
        var mask = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &mask)
        return Set((1..<32).filter { sigismember(&mask, $0) == 1 })
    }

    @Test func manyThreadsAtOnceEachGiveTheirOwnValue() async {
        await withTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                group.addTask { BlockingThread.run(atMost: .seconds(60)) { number } == number }
            }
            for await holds in group { #expect(holds) }
        }
    }
}

@Suite struct CountingSemaphoreTests {
    @Test func eachSignalIsTakenOnce() {
        let semaphore = CountingSemaphore(count: 1)
        semaphore.signal()
        #expect(semaphore.wait(for: .zero))
        #expect(semaphore.wait(for: .zero))
        #expect(!semaphore.wait(for: .zero))
        #expect(!semaphore.wait(for: .milliseconds(1)))
        #expect(!semaphore.wait(for: .seconds(-5)))
    }

    @Test func aSignalWakesAWaitingThread() {
        let (isReady, answer) = (CountingSemaphore(), CountingSemaphore())
        BlockingThread.start {
            isReady.wait()
            answer.signal()
        }
        isReady.signal()
        #expect(answer.wait(for: .seconds(Int64.max)))
    }

    @Test func countedOneItKeepsThreadsApart() {
        let (turn, done) = (CountingSemaphore(count: 1), CountingSemaphore())
        let occupancy = Occupancy()
        for _ in 0..<8 {
            BlockingThread.start {
                for _ in 0..<100 {
                    turn.wait()
                    occupancy.pass()
                    turn.signal()
                }
                done.signal()
            }
        }
        for _ in 0..<8 { done.wait() }
        #expect(occupancy.highest == 1)
    }

    /// Counts the threads that are at one place at the same time.
    private final class Occupancy: Sendable {
        private let inside = Atomic(0)
        private let atMost = Atomic(0)

        var highest: Int { atMost.load(ordering: .relaxed) }

        func pass() {
            atMost.max(inside.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            inside.subtract(1, ordering: .relaxed)
        }
    }
}
