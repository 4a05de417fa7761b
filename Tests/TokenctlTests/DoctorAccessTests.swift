import Foundation
import TestSupport
import Testing

@testable import tokenctl

/// What doctor says of the administrator's rules, in files that this user has in root's place.
@Suite struct DoctorAccessTests {
    private static func findings(_ rules: String, mode: mode_t = 0o644, in folder: TemporaryFolder) throws -> [String] {
        let path = try folder.write("access.conf", rules)
        chmod(path, mode)
        return DoctorSystem().accessRules(at: path, of: geteuid()).map { finding in
            "\(finding.state): \(finding.finding)".replacing(folder.path(""), with: "")
        }
    }

    @Test func whatCountsIsInOrder() throws {
        let folder = try TemporaryFolder()
        try folder.writeProgram("backup", "true")
        let rules = "# the backup\nallow \(folder.path("backup")) user=jo unit=backup.service # each night\n\n"
        #expect(try Self.findings(rules, in: folder) == ["ok: access.conf"])
        #expect(DoctorSystem().accessRules(at: folder.path("none")).isEmpty)
    }

    @Test func eachReasonThatRulesDoNotCountIsTold() throws {
        let folder = try TemporaryFolder()
        try folder.writeProgram("backup", "true")
        let rule = "allow \(folder.path("backup"))\n"
        #expect(
            try Self.findings(rule, mode: 0o664, in: folder) == [
                "missing: access.conf is ignored, since others than root can write it"
            ])
        for line in ["permit /bin/true", "allow true", "allow", "allow /bin/true group=x"] {
            #expect(
                try Self.findings("\n\(line)\n\(rule)", in: folder) == [
                    "missing: line 2 of access.conf is no rule, so that none counts"
                ], "\(line)")
        }
        #expect(
            try Self.findings("allow \(folder.path("no-such"))\n", in: folder) == [
                "note: line 1 of access.conf allows no-such, which is not there"
            ])
        chmod(folder.path("backup"), 0o777)
        #expect(
            try Self.findings(rule, in: folder) == [
                "missing: line 1 of access.conf does not count: others than root can write backup"
            ])
    }
}
