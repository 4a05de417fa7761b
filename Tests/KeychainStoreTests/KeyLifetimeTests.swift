import Testing

@testable import KeychainModel
@testable import KeychainStore

@Suite struct KeyLifetimeTests {
    private func at(_ total: Int64, asleep: Int64 = 0) -> Uptime { Uptime(total: total, asleep: asleep) }

    private func lifetime(sleep: Bool = false, interval: UInt32? = nil) -> KeyLifetime {
        KeyLifetime(KeychainSettings(locksOnSleep: sleep, lockInterval: interval), from: at(1000))
    }

    @Test func withoutSettingsItNeverEnds() {
        #expect(!lifetime().isOver(at: at(.max, asleep: .max / 2)))
        #expect(lifetime().remaining(at: at(5000)) == nil)
        #expect(lifetime().nextCheck(at: at(5000)) == .max)
    }

    @Test func theIntervalIsCountedFromTheLastUse() {
        var lifetime = lifetime(interval: 2)
        #expect(!lifetime.isOver(at: at(2999)))
        #expect(lifetime.isOver(at: at(3000)))
        lifetime.use(at: at(2500))
        #expect(!lifetime.isOver(at: at(4499)))
        #expect(lifetime.isOver(at: at(4500)))
        #expect(lifetime.nextCheck(at: at(2500)) == 2000)
    }

    @Test func sleepCountsAsTimeWithoutUse() {
        #expect(lifetime(interval: 2).isOver(at: at(9000, asleep: 8000)))
    }

    @Test func sleepEndsItOnlyWhereTheSettingsSaySo() {
        #expect(lifetime(sleep: true).isOver(at: at(3000, asleep: 1500)))
        #expect(!lifetime(sleep: false).isOver(at: at(3000, asleep: 1500)))
        // The two clocks are not read at the same moment, so that 0.05 s of sleep do not count.
        #expect(!lifetime(sleep: true).isOver(at: at(3000, asleep: 50)))
        #expect(lifetime(sleep: true).nextCheck(at: at(3000)) == .max)
    }

    @Test func anEndComesHoweverMuchItIsUsed() {
        var lifetime = lifetime(interval: 10)
        lifetime.limit(toSeconds: 5, from: at(0))
        lifetime.use(at: at(4900))
        #expect(!lifetime.isOver(at: at(4999)))
        #expect(lifetime.isOver(at: at(5000)))
    }

    @Test func theEarlierOfTwoEndsHolds() {
        var lifetime = lifetime(interval: 10)
        lifetime.limit(toSeconds: 5, from: at(0))
        lifetime.limit(toSeconds: 7, from: at(0))
        #expect(lifetime.nextCheck(at: at(1000)) == 4000)
        lifetime.limit(toSeconds: 3, from: at(0))
        #expect(lifetime.nextCheck(at: at(1000)) == 2000)
        lifetime.use(at: at(2999))
        #expect(!lifetime.isOver(at: at(2999)))
        #expect(lifetime.isOver(at: at(3000)))
    }

    @Test func theClocksOfThisMachineGoOnTogether() {
        let (first, second) = (Uptime.now(), Uptime.now())
        #expect(first.total > 0 && second.total >= first.total)
        #expect(first.asleep >= -100)
        #expect(!second.hasSlept(since: first))
    }
}
