import TestSupport
import Testing

@testable import LoginSessions

/// The question whether the screen is locked, on a bus of the test's own with a stand-in for logind.
@Suite struct ScreenLockTests {
    /// logind's name for the session of the program that asks.
    private static let own = "/org/freedesktop/login1/session/auto"

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test func logindTellsWhetherTheScreenIsLocked() throws {
        let bus = try TestBus(in: folder)
        let logind = try StandInLogind(on: bus)
        try logind.perform("add \(Self.own) 4711 seat0 user 1")
        #expect(ScreenLock.isLocked(bus: bus.address) == true)
        try logind.perform("hint \(Self.own) 0")
        #expect(ScreenLock.isLocked(bus: bus.address) == false)
    }

    @Test func whereNobodyAnswersNobodyKnows() throws {
        #expect(ScreenLock.isLocked(bus: TestBus.address(in: folder)) == nil, "no bus")
        let bus = try TestBus(in: folder)
        #expect(ScreenLock.isLocked(bus: bus.address) == nil, "no logind")
        let logind = try StandInLogind(on: bus)
        #expect(ScreenLock.isLocked(bus: bus.address) == nil, "no session")
        try logind.perform("add \(Self.own) 4711 seat0 odd 1")
        #expect(ScreenLock.isLocked(bus: bus.address) == nil, "no flag")
    }
}
