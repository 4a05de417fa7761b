import Foundation
import Platform
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// Keychains and settings of another user are refused: a setuid program, or root with a user's `HOME`, must neither read
/// that user's files nor write into that user's folders.
@Suite struct FilesOfOthersTests {
    private let folder: TemporaryFolder
    private let place: String

    init() throws {
        folder = try TemporaryFolder()
        // The folder for temporary files may be reached by a link.
        place = try #require(resolvedPath(folder.path))
    }

    /// Makes a file another user's, and returns the user to check it for. Root changes its owner; other users check for another
    /// user instead.
    private func giveAway(_ path: String) throws -> uid_t {
        guard geteuid() == 0 else { return geteuid() + 1 }
        try #require(lchown(path, 65_533, 65_533) == 0)
        return 0
    }

    private var owner: String { User(geteuid() == 0 ? 65_533 : geteuid()).text }

    private func keychain(_ name: String = "a/k") throws -> String {
        _ = try LocalKeychain.create(at: folder.path(name), password: .of("p"), cost: .negligible)
        return "\(place)/\(name)"
    }

    private func refusal(_ path: String, for user: uid_t) -> KeychainError? {
        do throws(KeychainError) {
            _ = try KeychainFile(existing: path, for: user)
            return nil
        } catch { return error }
    }

    // MARK: Owners

    @Test func aKeychainThatAnotherUserOwnsIsRefused() throws {
        let path = try keychain()
        #expect(refusal(path, for: geteuid()) == nil)
        let error = try #require(refusal(path, for: try giveAway(path)))
        #expect(error.code == .noAccessForItem)
        #expect(error.reason.contains("belongs to \(owner)") && error.reason.contains(path), "\(error)")
        #expect(error.remedy != nil)
    }

    @Test func aKeychainInAFolderOfAnotherUserIsRefused() throws {
        let path = try keychain()
        let error = try #require(refusal(path, for: try giveAway("\(place)/a")))
        #expect(error.code == .noAccessForItem)
        #expect(error.reason.contains("belongs to \(owner)") && error.reason.contains(path), "\(error)")
    }

    @Test func aKeychainFarBelowAFolderOfAnotherUserIsRefused() throws {
        let path = try keychain("a/b/c/k")
        let error = try #require(refusal(path, for: try giveAway(place)))
        #expect(error.code == .noAccessForItem)
        #expect(error.reason.contains("the folder \(place), on the way to \(path), belongs to \(owner)"), "\(error)")
    }

    @Test func aLinkOfAnotherUserIsNotFollowed() throws {
        let path = try keychain()
        let link = "\(place)/link"
        #expect(symlink(path, link) == 0)
        #expect(refusal(link, for: geteuid()) == nil)
        let error = try #require(refusal(link, for: try giveAway(link)))
        #expect(error.code == .noAccessForItem && error.reason.contains("belongs to \(owner)"), "\(error)")
    }

    @Test func whatIsMissingBelowAFolderOfAnotherUserIsMissing() throws {
        let user = try giveAway(place)
        #expect(refusal("\(place)/none/k", for: user)?.code == .noSuchKeychain)
    }

    @Test func rootOwnsTheFoldersOnTheWayToEverybodysKeychains() throws {
        let path = try keychain()
        let followed = try #require(FollowedPath(path))
        try followed.checkOwners()
        try followed.checkFolders()
        #expect(followed.path == path)
    }

    // MARK: Paths

    @Test func aPathIsFollowedAsTheSystemFollowsIt() throws {
        _ = try keychain("a/b/k")
        for (target, link) in [
            ("b", "a/relative"), ("\(place)/a/b", "absolute"), ("../a/./b//k", "a/up"), ("absolute/../b/k", "chain"),
        ] {
            #expect(symlink(target, "\(place)/\(link)") == 0)
        }
        for name in [
            "a/b/k", "a/./b/../b/k", "a//b///k", "a/relative/k", "absolute/k", "a/up", "chain", "a/b/", "a/b/.",
            "a/../..", "",
        ] {
            let path = "\(place)/\(name)"
            #expect(FollowedPath(path)?.path == resolvedPath(path), "\(path)")
        }
        #expect(FollowedPath("/")?.path == "/")
        #expect(FollowedPath("/..")?.path == "/")
        #expect(FollowedPath(".")?.path == resolvedPath("."))
    }

    @Test func aPathThatLeadsNowhereHasTheSystemsReason() throws {
        _ = try keychain("k")
        #expect(symlink("loop", "\(place)/loop") == 0)
        #expect(symlink("nowhere", "\(place)/dangling") == 0)
        for name in ["none", "none/none", "k/", "k/.", "k/x", "loop", "dangling", String(repeating: "x", count: 300)] {
            let path = "\(place)/\(name)"
            let followed = FollowedPath(path)
            let code = errno
            let resolved = resolvedPath(path)
            let expected = errno
            #expect(followed == nil && resolved == nil)
            #expect(code == expected, "\(name)")
        }
        for path in ["", "\(place)/k\0x", String(repeating: "x/", count: 3000)] { #expect(FollowedPath(path) == nil) }
    }

    @Test func aPathThatIsNotThereIsFollowedToWhereItEnds() throws {
        _ = try keychain("k")
        let followed = try #require(FollowedPath("\(place)/none/none", asFarAsThere: true))
        #expect(followed.path == place)
        #expect(FollowedPath("\(place)/k/none", asFarAsThere: true) == nil)
    }

    // MARK: Modes

    @Test func aFolderOnTheWayThatEverybodyMayWriteToIsRefusedUnlessItIsSticky() throws {
        let path = try keychain("open/a/k")
        chmod("\(place)/open", 0o777)
        let error = try #require(refusal(path, for: geteuid()))
        #expect(error.code == .noAccessForItem)
        #expect(error.reason.contains("may replace files in \(place)/open,"), "\(error)")
        #expect(throws: KeychainError(.noAccessForItem)) {
            try LocalKeychain.create(at: "\(place)/open/new/k", password: .of("p"), cost: .negligible)
        }
        chmod("\(place)/open", 0o1777)
        #expect(refusal(path, for: geteuid()) == nil)
    }

    /// Distributions with umask 002 give each user a group, which has the user's number.
    @Test func aFolderOnTheWayMayBeWritableForTheOwnersOwnGroupAndNoOther() throws {
        let path = try keychain("open/a/k")
        chmod("\(place)/open", 0o770)
        var status = stat()
        #expect(stat("\(place)/open", &status) == 0)
        #expect((refusal(path, for: geteuid()) == nil) == (status.st_gid == status.st_uid))
        guard geteuid() == 0 else { return }
        #expect(chown("\(place)/open", 0, 65_533) == 0)
        #expect(refusal(path, for: 0)?.code == .noAccessForItem)
    }

    // MARK: Writing

    /// Root with a user's `HOME` makes neither folders nor files there.
    @Test func nothingIsMadeBelowAFolderOfAnotherUser() throws {
        guard try giveAway(place) == 0 else {
            // Without root, the folder of another user is the system's, where nothing can be made anyway.
            #expect(throws: KeychainError.self) { try Folder(path: "/usr/tokenkit").make() }
            return
        }
        for path in ["\(place)/k", "\(place)/new/k"] {
            let error = try #require(throws: KeychainError.self) {
                try LocalKeychain.create(at: path, password: .of("p"), cost: .negligible)
            }
            #expect(error.code == .noAccessForItem && error.reason.contains("belongs to \(owner)"), "\(error)")
            #expect(throws: KeychainError(.noAccessForItem)) { try KeychainFile.checkFree(path) }
        }
        let preferences = KeychainPreferences(directories: Directories { $0 == "HOME" ? place : nil })
        #expect(throws: KeychainError(.noAccessForItem)) { try preferences.setSearchList([]) }
        TokenCaches(in: preferences.directories).tokens.remember([1], for: TokenID(driver: "piv", instance: "1"))
        TokenCaches(in: preferences.directories).certificates.remember([1], for: TokenID(driver: "piv", instance: "1"))
        #expect(throws: HostSocket.Failure.self) { try HostSocket.listen(in: place) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    }

    @Test func settingsOfAnotherUserAreNotRead() throws {
        let preferences = KeychainPreferences(directories: Directories { $0 == "HOME" ? place : nil })
        try preferences.setSearchList(["/mine"])
        #expect(try preferences.searchList() == ["/mine"])
        let user = try giveAway(place)
        #expect(throws: KeychainError(.noAccessForItem)) {
            try #require(FollowedPath(preferences.directories.configuration + "/keychains.conf", for: user))
                .checkOwners()
        }
        guard user == 0 else { return }
        let error = try #require(throws: KeychainError.self) { try preferences.searchList() }
        #expect(error.code == .noAccessForItem && error.reason.contains("belongs to \(owner)"), "\(error)")
    }
}
