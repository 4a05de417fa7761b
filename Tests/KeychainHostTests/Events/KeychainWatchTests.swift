import Foundation
import Platform
import Synchronization
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// The events that a watch has reported so far.
final class Told: Sendable {
    private let events = Mutex<[KeychainEvent]>([])

    func put(_ event: KeychainEvent) { events.withLock { $0.append(event) } }

    var all: [KeychainEvent] { events.withLock { $0 } }

    /// Waits up to 60 s for a number of events, and returns those so far.
    func wait(for count: Int = 1, where isMeant: (KeychainEvent) -> Bool = { _ in true }) -> [KeychainEvent] {
        let deadline = ContinuousClock.now + .seconds(60)
        while all.count(where: isMeant) < count, ContinuousClock.now < deadline { usleep(2000) }
        return all.filter(isMeant)
    }
}

@Suite struct KeychainWatchTests {
    private let user: TestUser
    private let keychain: LocalKeychain
    private let told = Told()

    init() throws {
        user = try TestUser()
        keychain = try user.create("login")
    }

    /// Runs `body` while a watch is on.
    private func watching(_ body: () throws -> Void) rethrows {
        let watch = KeychainWatch(user.preferences)
        let (finished, told, keychain) = (DispatchGroup(), told, keychain)
        Thread.detached(in: finished) {
            // Blocked PINs of other tests are reported as well, because they are events of the process.
            watch.run { if $0.kind != .pinBlocked || $0.location?.contains(keychain.path) == true { told.put($0) } }
        }
        defer {
            watch.cancel()
            finished.wait()
        }
        try body()
    }

    private func add(_ account: String, to keychain: LocalKeychain? = nil) throws -> Item {
        try (keychain ?? self.keychain).add(
            .genericPassword([.account: .string(account), .service: "s"], secret: .of("x")))
    }

    @Test func changesOfThisProcessAreToldInTheirOrder() throws {
        try watching {
            let item = try add("a")
            try keychain.update(matching: Query(item.reference), to: ItemChanges([.label: "x"]))
            try keychain.delete(matching: Query(item.reference))
            let events = told.wait(for: 3)
            #expect(events.map(\.kind) == [.add, .update, .delete])
            #expect(events.allSatisfy { $0.item == item.reference && $0.process == getpid() })
            #expect(events.allSatisfy { $0.keychain == keychain.identifier && $0.location == keychain.path })
        }
    }

    @Test func changesOfOtherProcessesAreTold() throws {
        try watching {
            let writer = try WriterProcess(["write", keychain.path, "w", "20"], password: "p")
            #expect(writer.remainingLines().count == 21)
            let added = told.wait(for: 20) { $0.kind == .add }
            #expect(added.count == 20)
            #expect(added.allSatisfy { $0.process == writer.identifier })
            let items = try keychain.items(matching: Query(.genericPassword, limit: .all)).found
            #expect(added.map(\.item) == items.map(\.reference))
            #expect(told.all.first?.kind == .unlock)
        }
    }

    @Test func lockingUnlockingAndPasswordsAreTold() throws {
        try watching {
            keychain.lock()
            try keychain.unlock(password: .of("p"))
            try keychain.changePassword(from: .of("p"), to: .of("q"), cost: .negligible)
            #expect(told.wait(for: 3).map(\.kind) == [.lock, .unlock, .passwordChanged])
        }
    }

    @Test func aKeyThatIsForgottenInTimeIsTold() throws {
        watching {
            keychain.lockAfter(seconds: 1)
            #expect(told.wait().map(\.kind) == [.lock])
        }
    }

    @Test func anotherSearchListAndDefaultAreTold() throws {
        try watching {
            try user.preferences.setSearchList([keychain.path, "/nowhere"])
            #expect(told.wait().map(\.kind) == [.listChanged])
            let other = try user.create(user.folder.path("other"))
            try user.preferences.setDefaultKeychain(other.path)
            let events = told.wait { $0.kind == .defaultChanged }
            #expect(events.map(\.location) == [other.path])
        }
    }

    @Test func aKeychainThatJoinsTheListIsWatched() throws {
        try watching { try addToANewKeychain() }
        #expect(told.all.contains { $0.kind == .add && $0.location == user.path("other") })
    }

    @Test func aKeychainInAnyFolderIsWatched() throws {
        let other = try user.create(user.folder.path("other"))
        try watching {
            let items = try (0..<3).map { number in
                let item = try add("\(number)", to: other)
                // Each event is awaited before the next change, so that each change has to wake the watch.
                #expect(told.wait { $0.item == item.reference }.count == 1)
                return item
            }
            #expect(told.all.map(\.item) == items.map(\.reference))
        }
    }

    @Test func aKeychainThatComesToWhereTheListHasItIsTold() throws {
        let folder = user.folder.path("medium")
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let other = try user.create(user.folder.path("other"))
        let path = folder + "/other"
        try user.preferences.setSearchList([keychain.path, path])
        try watching {
            for isMoved in [false, true] {
                let draft = isMoved ? folder + "/draft" : path
                try FileManager.default.copyItem(atPath: other.path, toPath: draft)
                if isMoved { rename(draft, path) }
                let told = told.wait(for: isMoved ? 2 : 1) { $0.kind == .listChanged }
                #expect(told.allSatisfy { $0.location == path } && told.count == (isMoved ? 2 : 1))
                let arrived = try LocalKeychain.open(path)
                try arrived.unlock(password: .of("p"))
                let item = try add("a", to: arrived)
                #expect(self.told.wait { $0.kind == .add && $0.item == item.reference }.count == 1)
                try arrived.delete()
            }
        }
    }

    @Test func nothingIsMissedOfAKeychainThatIsMadeAfterTheWatch() throws {
        let watch = KeychainWatch(user.preferences)
        let other = try user.create("other")
        let references = try ["a", "b"].map { try add($0, to: other).reference }
        let (finished, told) = (DispatchGroup(), told)
        Thread.detached(in: finished) { watch.run { told.put($0) } }
        let added = told.wait(for: 2) { $0.kind == .add }
        watch.cancel()
        finished.wait()
        #expect(added.map(\.item) == references)
    }

    @Test func onlyOfAKeychainThatIsNewAllIsTold() throws {
        let item = try add("before")
        #expect(JournalReader(keychain.path, since: .max)?.newEvents() == [])
        #expect(JournalReader(keychain.path, since: 0)?.newEvents().contains { $0.item == item.reference } == true)
    }

    /// Adds items to a new keychain until the watch reports one.
    private func addToANewKeychain() throws {
        let other = try user.create("other")
        for number in 0..<1000 where !told.all.contains(where: { $0.kind == .add }) {
            _ = try add("\(number)", to: other)
            usleep(20_000)
        }
    }

    @Test func aDeletedKeychainChangesTheListAndIsNotWatchedAnyMore() throws {
        try watching {
            try user.preferences.delete(keychain.path)
            let events = told.wait(for: 2) { $0.kind == .listChanged || $0.kind == .defaultChanged }
            #expect(Set(events.map(\.kind)) == [.listChanged, .defaultChanged])
        }
    }

    @Test func whatWasBeforeTheWatchIsNotTold() throws {
        _ = try add("before")
        try watching {
            let item = try add("after")
            #expect(told.wait().map(\.item) == [item.reference])
        }
    }

    @Test func manyChangesAreAllTold() throws {
        try watching {
            for number in 0..<200 { _ = try add("\(number)") }
            #expect(told.wait(for: 200).count == 200)
        }
    }

    @Test func aStreamGivesEventsUntilItIsLetGo() async throws {
        let watch = KeychainWatch(user.preferences)
        let events = AsyncStream<KeychainEvent> { continuation in
            continuation.onTermination = { _ in watch.cancel() }
            BlockingThread.start {
                watch.run { continuation.yield($0) }
                continuation.finish()
            }
        }
        let item = try add("a")
        for await event in events where event.kind != .pinBlocked {
            #expect(event.kind == .add)
            #expect(event.item == item.reference)
            break
        }
    }

    @Test func aCancelledWatchEndsAtOnceAndTwiceIsNoHarm() {
        let watch = KeychainWatch(user.preferences)
        watch.cancel()
        watch.cancel()
        watch.run { _ in Issue.record("nothing is told any more") }
    }

    @Test func whatOnlyTheProcessKnowsIsToldToItsWatches() {
        watching {
            EventInbox.post(KeychainEvent(.pinBlocked, location: "only for \(keychain.path)"))
            let events = told.wait { $0.kind == .pinBlocked && $0.location?.hasSuffix(keychain.path) == true }
            #expect(events.count == 1)
        }
    }

    @Test func aPINWithoutTriesLeftIsTold() throws {
        let inbox = EventInbox()
        inbox.open()
        defer { inbox.close() }
        let desk = try Desk(TestCard(pinTries: 1), reader: "Reader of \(UniqueID())")
        let context = AuthenticationContext(prompter: AnswersByScript("000000"), lastTry: .spend)
        #expect(throws: KeychainError(.authFailed)) { try desk.key("9A").sign(context) }
        let blocked = inbox.take().filter { $0.kind == .pinBlocked && $0.location == desk.slot.name }
        #expect(blocked.count == 1)
    }

    @Test func eventsHaveTheirBits() {
        #expect(KeychainEvent.Kind.lock.mask.rawValue == 2)
        #expect(KeychainEvent.Kind.passwordChanged.mask.rawValue == 64)
        #expect(KeychainEvent.Kind.listChanged.mask.rawValue == 2048)
        #expect(KeychainEventMask.every.contains(.pinBlocked))
        #expect(!KeychainEventMask([.init(rawValue: 2), .init(rawValue: 4)]).contains(.add))
        let kinds = KeychainEvent.Kind.allCases
        #expect(Set(kinds.map(\.name)).count == kinds.count && Set(kinds.map(\.mask)).count == kinds.count)
    }
}

extension Thread {
    /// Runs a block that waits on its own thread.
    static func detached(in group: DispatchGroup, _ block: @escaping @Sendable () -> Void) {
        group.enter()
        Thread {
            block()
            group.leave()
        }.start()
    }
}
