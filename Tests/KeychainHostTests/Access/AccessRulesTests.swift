import Foundation
import Glibc
import HostAPI
import KeychainModel
import Settings
import TestSupport
import Testing

@testable import KeychainHost
@testable import Platform

/// An administrator's rules for programs without a person who could be asked.
@Suite struct AccessRulesTests {
    private let program: ProgramIdentity
    private let path: String
    private let child: ChildProcess

    /// A program of the system.
    init() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let child = try ChildProcess(["sleep", "600"], streams: [null, null, null])
        self.child = child
        try #require(eventually { Executable.name(of: child.identifier) == "sleep" })
        let handle = try #require(ProcessHandle(child.identifier))
        program = try #require(ProgramIdentity(of: handle, user: 65_534) { _ in nil })
        path = try #require(program.path)
        try #require(program.id == .path(path))
        kill(child.identifier, SIGKILL)
        child.wait()
    }

    private func allow(_ text: String, user: UInt32 = 4711) throws -> Bool {
        try AccessRules(parsing: text, of: "access.conf").gives(.allow, to: program, of: user)
    }

    @Test func aRuleAllowsTheProgramAtItsPath() throws {
        #expect(try allow("# comment\n\n  allow \(path) # sleeps\n"))
        #expect(try !allow("allow \(path)y"))
        #expect(try !allow(""))
    }

    @Test func aPathMayBeInQuotes() throws {
        #expect(try allow("allow \"\(path)\" # sleeps"))
        #expect(try allow("allow \(path)#comment"))
        #expect(try !allow("allow \"\(path)#comment\""))
        #expect(
            try AccessRules(parsing: "allow \"/opt/a b\" unit=\"c d\"", of: "FILE").rules.map(\.path) == ["/opt/a b"])
    }

    @Test func eachRightIsGivenByItsOwnRule() throws {
        let rules = try AccessRules(parsing: "administer \(path) user=4711", of: "FILE")
        #expect(rules.has(.administer) && !rules.has(.allow))
        #expect(rules.gives(.administer, to: program, of: 4711))
        #expect(!rules.gives(.administer, to: program, of: 4712))
        #expect(!rules.gives(.allow, to: program, of: 4711))
    }

    @Test func aRuleMayHoldForOneUser() throws {
        #expect(try allow("allow \(path) user=4711"))
        #expect(try !allow("allow \(path) user=4712"))
        #expect(try allow("allow \(path) user=root", user: 0))
        #expect(try !allow("allow \(path) user=root"))
        #expect(try allow("allow \(path) user=1\nallow \(path) user=4711"))
    }

    @Test func aRuleMayHoldForOneUnit() throws {
        #expect(try !allow("allow \(path) unit=other.service"))
        let groups = [
            "0::/system.slice/nginx.service\n": "nginx.service",
            "12:cpu:/\n0::/system.slice/system-foo.slice/foo@1.service/sub.service\n": "foo@1.service",
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service\n": nil,
            "1:name=systemd:/system.slice/nginx.service\n0::/\n": nil, "0::/system.slice\n": nil, "": nil,
        ]
        for (text, unit) in groups { #expect(ProgramIdentity.unit(inGroups: text) == unit, "\(text)") }
    }

    @Test(arguments: [
        "deny /bin/a", "allow", "allow bin/a", "allow /bin/a uid=1", "allow /bin/a user", "allow /bin/a user=1 user=2",
        "allow /bin/a /bin/b", "Allow /bin/a", "administer", "allow \"\"", "allow \"bin/a\"",
    ])
    func aLineThatIsNoRuleIsNamed(line: String) {
        let error = #expect(throws: KeychainError(.decode)) {
            try AccessRules(parsing: "\n\(line)", of: "/etc/access.conf")
        }
        #expect(error?.reason == "line 2 of /etc/access.conf is no rule")
    }

    @Test func aFileThatIsNotRootsIsNotRead() throws {
        let user = try TestUser()
        let folder = user.directories.system
        // For an ordinary user, another one is the owner of the system's settings.
        let directories = Directories(system: folder, ownedBy: geteuid() == 0 ? 0 : geteuid() + 1) { _ in nil }
        #expect(try AccessRules.read(in: directories) == nil)
        try #require(mkdir(folder, 0o755) == 0 || errno == EEXIST)
        try "allow \(path)\n".write(toFile: "\(folder)/access.conf", atomically: true, encoding: .utf8)
        chmod("\(folder)/access.conf", 0o644)
        if geteuid() == 0 {
            #expect(try AccessRules.read(in: directories)?.gives(.allow, to: program, of: 4711) == true)
            try #require(chown("\(folder)/access.conf", 65_534, 65_534) == 0)
        }
        #expect(throws: KeychainError(.noAccessForItem)) { try AccessRules.read(in: directories) }
    }

    @Test func whatARuleAllowsAsksNobody() throws {
        let rules = try AccessRules(parsing: "allow \(path)", of: "access.conf")
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        let child = try ChildProcess(["sleep", "600"], streams: [null, null, null])
        defer {
            kill(child.identifier, SIGKILL)
            child.wait()
        }
        try #require(eventually { Executable.name(of: child.identifier) == "sleep" })
        let asking = AskingProgram(ProcessHandle(child.identifier), user: 65_534)
        let item = AccessItem(key: "1", name: "mail", in: "login")
        try AccessDecisions(rules: { rules }).require(.read, of: item, by: asking, asking: NoPrompter())
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try AccessDecisions().require(.read, of: item, by: asking, asking: NoPrompter())
        }
        // A person's denial goes before the rules.
        let policy = RememberedAccess()
        policy.decide(false, try asking.program(at: path), to: nil, item)
        #expect(throws: KeychainError(.userCanceled)) {
            try AccessDecisions(policy: policy, rules: { rules }).require(
                .read, of: item, by: asking, asking: NoPrompter())
        }
    }
}
