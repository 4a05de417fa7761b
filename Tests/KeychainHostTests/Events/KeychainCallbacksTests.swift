import Foundation
import HostAPI
import KeychainCalls
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

@Suite struct KeychainCallbacksTests {
    private let user: TestUser
    private let keychain: LocalKeychain
    private let callbacks: KeychainCallbacks
    private let told = Told()

    init() throws {
        user = try TestUser()
        keychain = try user.create("login")
        let process = ProcessKeychains(user.preferences, readers: { [] })
        process.adopt(keychain)
        callbacks = KeychainCallbacks(Host(process, accessGroups: .all, prompter: NoPrompter()))
    }

    private func add(_ account: String) throws -> Item {
        try keychain.add(.genericPassword([.account: .string(account), .service: "s"], secret: .of("x")))
    }

    // Case 73
    @Test func anAddedItemIsToldOnceAndCanBeDeletedInTheCallback() throws {
        let (keychain, told) = (keychain, told)
        try callbacks.add(1, for: KeychainEvent.Kind.add.mask) { event in
            if let item = event.item { _ = try? keychain.delete(matching: Query(item)) }
            told.put(event)
        }
        defer { try? callbacks.remove(1) }
        let item = try add("a")
        let events = told.wait()
        #expect(events.map(\.item) == [item.reference])
        #expect(events.map(\.process) == [getpid()])
        #expect(try keychain.items(matching: Query(.genericPassword)).found.isEmpty)
    }

    // Case 73
    @Test func theSameFunctionIsRegisteredOnce() throws {
        try callbacks.add(7) { _ in }
        #expect(throws: KeychainError(.duplicateCallback)) { try callbacks.add(7) { _ in } }
        try callbacks.add(8) { _ in }
        try callbacks.remove(7)
        #expect(throws: KeychainError(.invalidCallback)) { try callbacks.remove(7) }
        try callbacks.add(7) { _ in }
        try callbacks.remove(7)
        try callbacks.remove(8)
        #expect(throws: KeychainError(.invalidCallback)) { try callbacks.remove(8) }
    }

    @Test func aFunctionIsCalledForTheEventsOfItsMaskOnly() throws {
        let (told, others) = (told, Told())
        try callbacks.add(1, for: [KeychainEvent.Kind.delete.mask, KeychainEvent.Kind.lock.mask]) { told.put($0) }
        try callbacks.add(2) { others.put($0) }
        let item = try add("a")
        try keychain.delete(matching: Query(item.reference))
        keychain.lock()
        #expect(others.wait(for: 3).map(\.kind) == [.add, .delete, .lock])
        #expect(told.wait(for: 2).map(\.kind) == [.delete, .lock])
        try callbacks.remove(1)
        try callbacks.remove(2)
    }

    @Test func aRemovedFunctionIsNotCalledAnyMore() throws {
        let (told, others) = (told, Told())
        try callbacks.add(1) { told.put($0) }
        try callbacks.add(2) { others.put($0) }
        _ = try add("a")
        #expect(told.wait().count == 1 && others.wait().count == 1)
        try callbacks.remove(1)
        _ = try add("b")
        #expect(others.wait(for: 2).count == 2)
        #expect(told.all.count == 1)
        try callbacks.remove(2)
    }

    @Test func afterTheLastOneWasRemovedAnotherCanBeAdded() throws {
        let told = told
        for round in 0..<3 {
            try callbacks.add(1) { told.put($0) }
            _ = try add("\(round)")
            #expect(told.wait(for: round + 1).count == round + 1)
            try callbacks.remove(1)
        }
    }
}
