import Foundation
import Platform
import TestSupport
import Testing

@Suite struct FollowedPathTests {
    /// A program in a folder of its own, with these permissions.
    private func isTrusted(_ permissions: mode_t, in folder: mode_t) throws -> Bool {
        let stage = try TemporaryFolder()
        let program = try stage.write("program", "")
        try #require(chmod(program, permissions) == 0 && chmod(stage.path, folder) == 0)
        return FollowedPath(program)?.isOwn == true
    }

    @Test func aProgramThatOthersCanReplaceIsNotTrusted() throws {
        #expect(try isTrusted(0o755, in: 0o755))
        #expect(try isTrusted(0o700, in: 0o700))
        #expect(try !isTrusted(0o757, in: 0o755))
        #expect(try !isTrusted(0o755, in: 0o777))
        #expect(FollowedPath("/nonexistent/program") == nil)
        #expect(FollowedPath("/bin/sh")?.isOwn == true)
    }

    /// Only the owner of a file can replace it in a sticky folder.
    @Test func aProgramInAFolderForAllUsersHasToBeOnesOwn() throws {
        #expect(try isTrusted(0o755, in: 0o1777))
        let stage = try TemporaryFolder()
        let program = try stage.write("program", "")
        try #require(chmod(stage.path, 0o1777) == 0)
        #expect(FollowedPath(program, for: geteuid() + 1)?.isOwn == (geteuid() == 0))
    }

    /// A group with the owner's number is the owner's alone.
    @Test func aProgramThatAGroupCanWriteIsTrustedWhereTheGroupIsTheOwners() throws {
        #expect(try isTrusted(0o775, in: 0o755) == (getegid() == geteuid()))
    }

    @Test func aLinkIsTrustedAsTheProgramThatItLeadsTo() throws {
        let stage = try TemporaryFolder()
        let program = try stage.write("program", "")
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: other.path("link"), withDestinationPath: program)
        #expect(FollowedPath(other.path("link"))?.isOwn == true)
        try #require(chmod(stage.path, 0o777) == 0)
        #expect(FollowedPath(other.path("link"))?.isOwn == false)
    }
}
