import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LoginSessions

/// The watch over login sessions, on a bus of the test's own with a stand-in for logind.
@Suite struct LoginWatchTests {
    private let folder: TemporaryFolder
    private let watch: Watch

    private static let desktop = "/org/freedesktop/login1/session/_31"
    private static let remote = "/org/freedesktop/login1/session/_32"
    private static let timer = "/org/freedesktop/login1/session/c3"
    private static let other = "/org/freedesktop/login1/session/_34"

    /// The events that a watch has told of. The watch ends with this object.
    private final class Watch: Sendable {
        private let told = Mutex<[LoginEvent]>([])
        private let end: FileHandle

        init(on address: String, _ tell: @escaping @Sendable (LoginEvent) -> Void = { _ in }) throws {
            let ends = try ChildProcess.pipe()
            end = ends.write
            // The thread of the watch may still use it after this object is gone.
            let descriptor = fcntl(ends.read.fileDescriptor, F_DUPFD_CLOEXEC, 3)
            LoginWatch.start(bus: address, user: 4711, firstPause: 10, end: descriptor) { [weak self] event in
                tell(event)
                self?.told.withLock { $0.append(event) }
            }
        }

        var events: [LoginEvent] { told.withLock { $0 } }

        func forget() { told.withLock { $0 = [] } }
    }

    init() throws {
        folder = try TemporaryFolder()
        watch = try Watch(on: TestBus.address(in: folder))
    }

    /// Logind with the sessions of the user, once the watch knows them.
    private func logind(on bus: TestBus) throws -> StandInLogind {
        let logind = try StandInLogind(on: bus)
        for session in [
            "\(Self.desktop) 4711 seat0 user 0", "\(Self.remote) 4711 - user 0", "\(Self.timer) 4711 - background 0",
            "\(Self.other) 4712 seat0 user 0",
        ] {
            try logind.perform("add \(session)")
        }
        try #require(try eventually { try logind.delayCount >= 1 })
        _ = try events(logind)
        try #require(try eventually { try logind.delayCount >= 1 })
        watch.forget()
        return logind
    }

    /// The events so far. The last one is a sleep that is announced now, and comes after all that were sent before.
    private func events(_ logind: StandInLogind) throws -> [LoginEvent] {
        let count = watch.events.count { $0 == .suspending }
        try logind.perform("sleep 1")
        try #require(eventually { watch.events.count { $0 == .suspending } == count + 1 })
        try logind.perform("sleep 0")
        return watch.events
    }

    @Test func aLockedScreenIsToldOnce() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("hint \(Self.desktop) 1")
        try logind.perform("hint \(Self.desktop) 1")
        #expect(try events(logind) == [.screenLocked, .suspending])
        try logind.perform("hint \(Self.desktop) 0")
        try logind.perform("hint \(Self.desktop) 1")
        #expect(try events(logind) == [.screenLocked, .suspending, .screenLocked, .suspending])
    }

    @Test func theRequestToLockTheScreenIsTold() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("lock \(Self.desktop)")
        #expect(try events(logind) == [.screenLocked, .suspending])
    }

    @Test func sessionsOfOthersAreNot() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("lock \(Self.other)")
        try logind.perform("hint \(Self.other) 1")
        try logind.perform("remove \(Self.other)")
        #expect(try events(logind) == [.suspending])
    }

    @Test func theMachineSleepsOnceTheEventWasHandled() throws {
        let bus = try TestBus(in: folder)
        let (isHandling, mayReturn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let slow = try Watch(on: bus.address) { event in
            guard event == .suspending else { return }
            isHandling.signal()
            mayReturn.wait()
        }
        // The other watch handles the event at once.
        let logind = try StandInLogind(on: bus)
        try #require(try eventually { try logind.delayCount == 2 })
        try logind.perform("sleep 1")
        try #require(isHandling.wait(timeout: .now() + 60) == .success)
        #expect(try eventually { try logind.delayCount == 1 })
        #expect(slow.events.isEmpty)
        #expect(try logind.delayCount == 1)
        mayReturn.signal()
        #expect(try eventually { try logind.delayCount == 0 })
        #expect(slow.events == [.suspending])
        try logind.perform("sleep 0")
        #expect(try eventually { try logind.delayCount == 2 })
    }

    @Test func theEndOfASessionAtTheMachineIsTold() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("remove \(Self.desktop)")
        #expect(try events(logind) == [.sessionEnded, .suspending])
    }

    @Test func ofRemoteSessionsOnlyTheEndOfTheLastOneIs() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("add /org/freedesktop/login1/session/_35 4711 - user 0")
        try logind.perform("remove \(Self.remote)")
        try logind.perform("remove \(Self.timer)")
        #expect(try events(logind) == [.suspending])
        try logind.perform("remove \(Self.desktop)")
        #expect(try events(logind) == [.suspending, .sessionEnded, .suspending])
        try logind.perform("remove /org/freedesktop/login1/session/_35")
        #expect(try events(logind).suffix(2) == [.sessionEnded, .suspending])
    }

    /// A program that is left over, for instance a host that was started there, keeps a session from being removed.
    @Test func aSessionThatIsClosingHasEnded() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("set \(Self.desktop) closing")
        try logind.perform("add /org/freedesktop/login1/session/c5 120 seat0 greeter 0")
        #expect(try events(logind) == [.sessionEnded, .suspending])
        try logind.perform("remove \(Self.desktop)")
        #expect(try events(logind) == [.sessionEnded, .suspending, .suspending])
    }

    @Test func aSignalOfAnotherProgramIsIgnored() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        let manager = "org.freedesktop.login1.Manager."
        let watcher = try #require(logind.watcher)
        for destination in [watcher, nil] {
            try bus.forge("org.freedesktop.login1.Session.Lock", at: Self.desktop, to: destination)
            try bus.forge(
                manager + "PrepareForSleep", at: "/org/freedesktop/login1", to: destination, "boolean:true")
            try bus.forge(
                "org.freedesktop.DBus.NameOwnerChanged", at: "/org/freedesktop/DBus", to: destination,
                "string:org.freedesktop.login1", "string:", "string::1.99")
        }
        #expect(try logind.delayCount == 1)
        #expect(try events(logind) == [.suspending])
    }

    @Test func aSignalWithOtherContentsIsIgnored() throws {
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        try logind.perform("odd \(Self.desktop)")
        #expect(try events(logind) == [.suspending])
    }

    @Test func aBusThatComesBackIsWatchedAgainAndWhatHappenedMeanwhileIsTold() throws {
        var bus: TestBus? = try TestBus(in: folder)
        if let bus { _ = try logind(on: bus) }
        bus = nil
        bus = try TestBus(in: folder)
        let logind = try StandInLogind(on: #require(bus))
        try #require(try eventually { try logind.delayCount == 1 })
        try #require(eventually { watch.events == [.sessionEnded] })
        try logind.perform("add \(Self.desktop) 4711 seat0 user 0")
        try logind.perform("lock \(Self.desktop)")
        #expect(try events(logind).suffix(2) == [.screenLocked, .suspending])
    }

    @Test func logindThatComesLaterIsWatched() throws {
        let bus = try TestBus(in: folder)
        _ = try logind(on: bus)
        let logind = try logind(on: bus)
        try logind.perform("lock \(Self.desktop)")
        #expect(try events(logind).suffix(2) == [.screenLocked, .suspending])
    }

    /// The watch of this suite also begins before its bus does.
    @Test func whereThereIsNoBusThereAreNoEvents() throws {
        let watches = try [Watch(on: "unix:path=\(folder.path("none"))"), Watch(on: "nonsense:")]
        let bus = try TestBus(in: folder)
        let logind = try logind(on: bus)
        #expect(try events(logind) == [.suspending])
        #expect(watches.map(\.events) == [[], []])
    }
}
