import Foundation
import PIVDriver
import TestSupport
import Testing
import TokenKit
import VirtualCard

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Programs of a user tell each other of PINs that were blocked.
@Suite struct BlockedPINsTests {
    private let folder: TemporaryFolder
    private let blocked: BlockedPINs
    private var file: String { folder.path("run/tokenkit-events/blocked-pins") }

    init() throws {
        folder = try TemporaryFolder()
        blocked = BlockedPINs(in: folder.path("run"))
    }

    /// The position after all that was told.
    private var end: Int {
        var position = 0
        _ = blocked.events(after: &position)
        return position
    }

    /// A line as another process writes it.
    private func write(_ text: String) throws {
        let handle = try #require(FileHandle(forWritingAtPath: file))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(text.utf8))
    }

    @Test func whatAnotherProcessTellsIsToldOnce() throws {
        blocked.note(reader: "Own reader")
        var position = end
        #expect(position > 0)
        try write("1 Reader 00 00\n2 Other\n3 Half")
        let events = blocked.events(after: &position)
        #expect(events.map(\.location) == ["Reader 00 00", "Other"] && events.map(\.process) == [1, 2])
        #expect(events.allSatisfy { $0.kind == .pinBlocked })
        #expect(blocked.events(after: &position).isEmpty)
        try write(" a line\n")
        #expect(blocked.events(after: &position).map(\.location) == ["Half a line"])
    }

    @Test func whatThisProcessTellsItDoesNotHearFromTheFile() {
        blocked.note(reader: "Reader \(UniqueID())")
        var position = 0
        #expect(blocked.events(after: &position).isEmpty && position > 0)
    }

    @Test func whatIsNoLineIsLeftOut() throws {
        blocked.note(reader: "two\nlines")
        var position = 0
        try write("\n\n nonsense\n99999999999 x\n-\n5\n5 \u{0}\u{1}\n6 good\n")
        #expect(blocked.events(after: &position).compactMap(\.process) == [5, 6])
    }

    @Test func whatAnotherUserCouldHaveWrittenIsNotRead() throws {
        blocked.note(reader: "r")
        try write("1 x\n")
        chmod(file, 0o620)
        var position = 0
        #expect(blocked.events(after: &position).isEmpty)
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(
            atPath: file, withDestinationPath: try folder.write("elsewhere", "1 x\n"))
        #expect(blocked.events(after: &position).isEmpty)
        blocked.note(reader: "r")
        #expect(try folder.read("elsewhere") == Array("1 x\n".utf8))
    }

    @Test func theFileIsBegunAnewBeforeItIsLong() throws {
        blocked.note(reader: "r")
        try write(String(repeating: "1 reader\n", count: 10_000))
        var position = end
        blocked.note(reader: "r")
        try write("2 reader\n")
        #expect(blocked.events(after: &position).map(\.process) == [2])
        #expect(try folder.read("run/tokenkit-events/blocked-pins").count < 100)
    }

    @Test func withoutAFolderNoProgramIsTold() {
        let alone = BlockedPINs(in: nil)
        var position = 0
        alone.note(reader: "r")
        #expect(alone.events(after: &position).isEmpty && alone.folder == nil)
    }

    @Test(arguments: [CardProfile.generic, .yubiKey57])
    func onlyTheLastTryThatIsLostIsTold(profile: CardProfile) throws {
        let told = Told()
        let reader = VirtualReader(name: "Reader", card: try TestCard(profile: profile, pinTries: 2).make())
        let slot = TokenSlot(
            reader: reader, drivers: [PIVDriver()],
            tellingOfBlockedPINs: {
                told.put(KeychainEvent(.pinBlocked, location: $0))
            })
        func verify(_ pin: String) {
            let context = AuthenticationContext(prompter: AnswersByScript(pin), lastTry: .spend)
            #expect(throws: KeychainError(.authFailed)) { try TokenKeychain(slot).verifyPIN(authentication: context) }
        }
        verify("000000")
        #expect(told.all.isEmpty)
        verify("111111")
        #expect(told.all.map(\.location) == ["Reader"])
        // A program that finds the PIN blocked has not blocked it.
        verify("222222")
        slot.disconnect(resetting: true)
        verify("222222")
        #expect(told.all.count == 1)
    }

    @Test func aProcessThatKeepsKeychainsTellsOnce() throws {
        let inbox = EventInbox()
        inbox.open()
        defer { inbox.close() }
        let user = try TestUser()
        let reader = VirtualReader(name: "Reader of \(UniqueID())", card: try TestCard(pinTries: 1).make())
        let process = ProcessKeychains(user.preferences) { _ in
            [PIVDriver()]
        } readers: {
            [reader]
        }
        let context = AuthenticationContext(prompter: AnswersByScript("000000"), lastTry: .spend)
        let token = try #require(try process.present(locals: false).tokens.first)
        #expect(throws: KeychainError(.authFailed)) { try token.verifyPIN(authentication: context) }
        #expect(inbox.take().filter { $0.location == reader.name }.map(\.process) == [getpid()])
    }
}
