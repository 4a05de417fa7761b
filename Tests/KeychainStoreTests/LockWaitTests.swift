import Testing

@testable import KeychainStore

@Suite struct LockWaitTests {
    @Test(arguments: [1, 2, 7, 200, 10_000] as [Int])
    func allTheTimeGoesByInPausesOfTwoMillisecondsAtMost(limit: Int) {
        var pauses: [Int] = []
        while let pause = LockWait.pause(afterLooks: pauses.count, limit: limit) { pauses.append(pause) }
        #expect(pauses.reduce(0, +) == limit)
        #expect(pauses.allSatisfy { (1...2).contains($0) })
    }

    @Test(arguments: [(0, 0), (Int(Int32.max), 10_000), (Int(Int32.max), Int(Int32.max))])
    func nothingIsLeftOfNoTimeAndAfterCountlessLooks(count: Int, limit: Int) {
        #expect(LockWait.pause(afterLooks: count, limit: limit) == nil)
    }
}
