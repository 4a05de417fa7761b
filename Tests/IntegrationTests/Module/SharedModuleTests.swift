import Foundation
import SystemCrypto
import TestSupport
import Testing

/// Modules of other makers in the session's host, which programs with the same settings have in common.
@Suite struct SharedModuleTests {
    private let session: OwnAgent
    private let softHSM: SoftHSM
    private var card: ConsumerCard { session.card }

    init() throws {
        softHSM = try SoftHSM([["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "one"]])
        session = try OwnAgent(ConsumerCard(["9A": .ecP256, "9C": .ecP256]))
    }

    private func variables(_ softHSM: SoftHSM, _ more: [String: String] = [:]) throws -> [String: String] {
        let settings = try #require(softHSM.environment.first).split(separator: "=", maxSplits: 1).map(String.init)
        return session.variables.merging(["TOKENKIT_MODULES": SoftHSM.path, settings[0]: settings[1]]) { $1 }
            .merging(more) { $1 }
    }

    private func listing(_ softHSM: SoftHSM, _ more: [String: String] = [:]) throws -> String {
        try card.output(of: [Program.command, "list-keychains"], variables(softHSM, more))
    }

    private func sign(_ options: String..., at location: SourceLocation = #_sourceLocation) throws {
        let key = "pkcs11:token=soft;id=%01;type=private"
        try card.succeed(
            [Program.command, "sign", "-k", key, card.path("message"), "-o", card.path("signature")] + options,
            variables(softHSM), at: location)
    }

    @Test func programsHaveOneProcessWhichEndsAfterTheLast() throws {
        defer { session.host.stop() }
        #expect(try listing(softHSM).contains("token=soft"))
        let workers = try softHSM.workers
        try #require(workers.count == 1)
        // Where a program runs is no setting.
        #expect(try listing(softHSM, ["TERM": "dumb", "SHLVL": "7", "PWD": "/"]).contains("token=soft"))
        #expect(try softHSM.workers == workers)
        #expect(eventually(within: 90) { kill(workers[0], 0) != 0 })
        #expect(try listing(softHSM).contains("token=soft"))
    }

    @Test func otherSettingsHaveAProcessOfTheirOwn() throws {
        defer { session.host.stop() }
        let other = try SoftHSM()
        #expect(try listing(softHSM) != listing(other))
        #expect(try softHSM.workers.count == 1)
        #expect(try other.workers.count == 1)
        #expect(try Set(softHSM.workers).isDisjoint(with: other.workers))
    }

    /// Other programs use the key by a person's permission, until all is locked.
    @Test func aPINCountsForAllPrograms() throws {
        defer { session.host.stop() }
        let pin = card.path("pin")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pin)
        try sign("--pin-source", "file:\(pin)")
        #expect(try card.pinentryStarts == 0)
        try sign()
        #expect(try card.pinentryPermissions.count == 1)
        #expect(try card.pinentryQuestions.isEmpty)
        #expect(try session.tokenctl("host", "status").contains("soft"))
        // The login holds the module, for which no program runs.
        #expect(try softHSM.workers.count == 1)
        try session.tokenctl("lock-keychain", "-a")
        #expect(try !session.tokenctl("host", "status").contains("soft"))
        try sign()
        #expect(try card.pinentryQuestions.count == 1)
        #expect(try card.pinentryPermissions.count == 1)
    }
}
