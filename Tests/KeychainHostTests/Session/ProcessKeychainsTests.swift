import Foundation
import HostAPI
import ItemDictionaries
import PIVDriver
import Platform
import SecureBytes
import Synchronization
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel

/// `ProcessKeychains` makes the search list of a process from readers and files. The card is a virtual one.
@Suite struct ProcessKeychainsTests {
    private let user: TestUser
    private let lookups = Counter()

    init() throws {
        user = try TestUser()
    }

    /// Counts the lookups of readers.
    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// The keychains of a new process.
    private func process(_ readers: VirtualReader...) -> ProcessKeychains {
        ProcessKeychains(
            user.preferences,
            drivers: { [PIVDriver(memory: $0.tokens, certificates: $0.certificates, rejectedPINs: $0.rejectedPINs)] },
            readers: { [lookups] in
                lookups.count.add(1, ordering: .relaxed)
                return readers
            })
    }

    private func findIdentities(_ process: ProcessKeychains) throws -> Int? {
        let session = KeychainSession(searchList: try process.present().searchList)
        let found = try session.copyMatching([
            "class": .string("idnt"), "m_Limit": .string("m_LimitAll"), "r_Ref": .bool(true),
        ])
        if case .array(let identities) = found.found { return identities.count } else { return nil }
    }

    @Test func anIdentityOnACardIsFoundByTheCertificatesThatTheLastProgramRead() throws {
        let reader = VirtualReader(card: try TestCard(profile: .genericShort, algorithm: .rsa2048).make())
        #expect(try findIdentities(process(reader)) == 4)
        let cold = reader.log.count
        reader.clearLog()
        let warm = process(reader)
        #expect(try findIdentities(warm) == 4)
        // SELECT, CHUID, four certificates and Key History, without the continuations that the first search needs.
        #expect(reader.log.map(\.ins) == [0xA4] + Array(repeating: 0xCB, count: 6))
        #expect(cold > 7)
        reader.clearLog()
        #expect(try findIdentities(warm) == 4)
        #expect(reader.log.isEmpty)
        // The command's search costs the same: the dictionary adds no commands.
        _ = try process(reader).present().searchList.identities(matching: Query(.identity, limit: .all))
        #expect(reader.log.count == 7)
    }

    @Test func whatIsMissingIsPartOfEverySearch() throws {
        let login = try user.create("login")
        try user.preferences.setSearchList([login.path, "/nowhere"])
        let process = ProcessKeychains(
            user.preferences, drivers: { _ in [PIVDriver()] },
            readers: { () throws(CardError) in throw CardError(.serviceUnavailable, "no service") })
        let present = try process.present()
        #expect(present.missing.map(\.error.code) == [.notAvailable, .noSuchKeychain])
        #expect(present.missing.map(\.place) == [.allCards, .file])
        #expect(present.missing.map(\.kind) == [.unreadableKeychain, .absentKeychain])
        let result = try present.searchList.items(matching: Query(.certificate))
        #expect(result.missing == present.missing)
        #expect(try process.present(cards: false).missing.count == 1)
        #expect(try process.present(locals: false).locals.isEmpty)
        #expect(throws: KeychainError(.noSuchKeychain)) { try process.open("/nowhere") }
    }

    @Test func aMachineWithoutAReaderMissesNothing() throws {
        let none = ProcessKeychains(
            user.preferences, drivers: { _ in [PIVDriver()] },
            readers: { () throws(CardError) in throw CardError(.noReader, "none") })
        #expect(try none.present().missing.isEmpty)
        #expect(try process().present().missing.isEmpty)
    }

    @Test func whoLooksIntoFilesAloneMakesNoModule() throws {
        let asked = Atomic(0)
        let process = ProcessKeychains(
            user.preferences,
            modules: {
                asked.add(1, ordering: .relaxed)
                return []
            })
        _ = try process.present(cards: false)
        #expect(asked.load(ordering: .relaxed) == 0)
        for _ in 1...2 { _ = try process.present() }
        process.letGo()
        _ = try process.present()
        #expect(asked.load(ordering: .relaxed) == 1)
    }

    @Test func withoutADriverNoReaderIsLookedFor() throws {
        let process = ProcessKeychains(
            user.preferences, readers: { () throws(CardError) in throw CardError(.serviceUnavailable, "no service") })
        #expect(try process.present().missing.isEmpty)
    }

    @Test func cardsOfADisabledDriverAreLeftAlone() throws {
        let reader = VirtualReader(card: try TestCard().make())
        try user.preferences.setDriver("piv", isDisabled: true)
        #expect(try process(reader).present().tokens.isEmpty)
        try user.preferences.setDriver("piv", isDisabled: false)
        #expect(try user.preferences.disabledDrivers.isEmpty)
        #expect(try process(reader).present().tokens.count == 1)
        // A file that another user could have changed may lack lines: no card is used, and the search reports it.
        chmod(user.directories.configuration + "/disabled-drivers", 0o666)
        let present = try process(reader).present()
        #expect(present.tokens.isEmpty)
        #expect(present.missing.map(\.error.code) == [.noAccessForItem])
        #expect(lookups.count.load(ordering: .relaxed) == 1)
    }

    @Test func whatWasVerifiedStaysSoFromCallToCall() throws {
        let (first, second) = (VirtualReader(name: "A", card: try TestCard().make()), VirtualReader(name: "B"))
        let process = process(first, second)
        let token = try #require(try process.present().tokens.first)
        #expect(token.status == .readable)
        try token.verifyPIN(authentication: .owner)
        let again = try process.present().tokens
        #expect(again.map(\.name) == ["A", "B"])
        // An empty reader has no status, and a PIN that another slot verified does not count.
        #expect(again.map(\.status) == [[.readable, .unlocked], []])
        #expect(TokenKeychain(process.slot(of: first)).status == .readable)
        first.remove()
        #expect(token.status == [])
    }

    // MARK: Bound keychains

    /// The login keychain with a password in it, locked, and bound to the card in a reader.
    private func bound(_ reader: VirtualReader) throws -> ProcessKeychains {
        let process = process(reader)
        let login = try user.create("login")
        try login.add(.genericPassword([.account: "anna"], secret: .of("s3cret")))
        try login.bind(to: TokenKeychain(process.slot(of: reader)), authentication: .owner)
        return process
    }

    @Test func aSecretOfABoundKeychainIsReadWithThePIN() throws {
        let reader = VirtualReader(card: try TestCard(profile: .yubiKey57, slots: [.keyManagement]).make())
        let process = try bound(reader)
        let person = TypesInTurn("123456")
        let session = KeychainSession(
            searchList: try process.present(cards: false).searchList,
            authentication: process.authentication(person))
        let item = try #require(try session.searchList.items(matching: Query(.genericPassword)).found.first)
        let secret = try session.host.secret(of: item.reference, RequestContext(purpose: "read it"))
        #expect(secret?.secret.copiedBytes == Array("s3cret".utf8))
        #expect(person.requests.map(\.purpose) == [.pin])
    }

    @Test func readersAreLookedForOnlyWhereACardOpensTheKeychain() throws {
        try user.create("login")
        let process = process(VirtualReader())
        let login = try #require(try process.localKeychains().found.first)
        try login.unlock(use: "read it", authentication: process.authentication(TypesInTurn("p")))
        #expect(!login.isLocked)
        #expect(lookups.count.load(ordering: .relaxed) == 0)
    }
}
