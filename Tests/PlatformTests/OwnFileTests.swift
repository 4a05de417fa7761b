import Foundation
import Platform
import TestSupport
import Testing

@Suite struct OwnFileTests {
    /// A program in a folder of its own, with these permissions.
    private func isTrusted(_ permissions: mode_t, in folder: mode_t) throws -> Bool {
        let stage = try TemporaryFolder()
        let program = try stage.write("program", "")
        try #require(chmod(program, permissions) == 0 && chmod(stage.path, folder) == 0)
        return OwnFile.isTrustedProgram(program)
    }

    @Test func aProgramThatOthersCanReplaceIsNotTrusted() throws {
        #expect(try isTrusted(0o755, in: 0o755))
        #expect(try isTrusted(0o700, in: 0o700))
        #expect(try !isTrusted(0o757, in: 0o755))
        #expect(try !isTrusted(0o775, in: 0o755))
        #expect(try !isTrusted(0o755, in: 0o1777))
        #expect(!OwnFile.isTrustedProgram("/nonexistent/program"))
        #expect(OwnFile.isTrustedProgram("/bin/sh"))
    }

    @Test func aLinkIsTrustedAsTheProgramThatItLeadsTo() throws {
        let stage = try TemporaryFolder()
        let program = try stage.write("program", "")
        let other = try TemporaryFolder()
        try FileManager.default.createSymbolicLink(atPath: other.path("link"), withDestinationPath: program)
        #expect(OwnFile.isTrustedProgram(other.path("link")))
        try #require(chmod(stage.path, 0o777) == 0)
        #expect(!OwnFile.isTrustedProgram(other.path("link")))
    }
}
