import Foundation
import Glibc
import HostAPI
import KeychainStore
import Platform
import SecureBytes
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// The replacement of all that programs may do with an item.
extension ServiceAccessTests {
    private func replace(
        _ rules: [AccessRule], of reference: PersistentReference? = nil, by client: ServiceStage,
        _ context: RequestContext = ServiceAccessTests.silent
    ) throws {
        _ = try client.service.changeAccess(.replace(rules, reference ?? item.reference), context)
    }

    private func access(_ client: ServiceStage, to reference: PersistentReference? = nil) throws -> ItemAccess {
        try client.service.access(to: reference ?? item.reference, Self.silent)
    }

    private func names(_ rules: [AccessRule]) -> [String?] {
        rules.map { rule in
            switch rule.program {
            case .decided(let name, _): name
            default: nil
            }
        }
    }

    // MARK: No way around consent

    @Test(arguments: ServiceRoute.allCases) func noProgramGivesItselfMoreThanItHas(_ route: ServiceRoute) throws {
        let person = Decides(.deny, .deny, .deny, .deny)
        let client = try client(route, person)
        let stolen = AccessProgram.decided(name: own, identity: [1] + Array(own.utf8))
        let programs: [(AccessProgram, KeychainError)] = [
            (.asking, KeychainError(.interactionNotAllowed)), (.any, KeychainError(.interactionNotAllowed)),
            (.path(own), KeychainError(.interactionNotAllowed)), (stolen, KeychainError(.param)),
        ]
        for (program, error) in programs {
            for use in [nil, AccessQuestion.Use.read] {
                #expect(throws: error, "\(program)") {
                    try replace([AccessRule(program, use)], by: client)
                }
            }
            #expect(throws: (any Error).self, "\(program)") {
                try replace([AccessRule(program)], by: client, Self.asking)
            }
        }
        #expect(try access(client) == ItemAccess(allowed: [], denied: []))
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(by: client) }
    }

    @Test func onlyWhatIsMoreIsAskedAbout() throws {
        let person = Decides(.allowOnce, .allowOnce)
        let client = try client(.call, person)
        try replace([AccessRule(.asking, .read), AccessRule(.path("/usr/bin/true"))], by: client, Self.asking)
        #expect(person.questions.map(\.program.path) == [own, "/usr/bin/true"])
        #expect(try read(by: client) == "s3cret")
        #expect(try read(by: later()) == "s3cret")
        let access = try access(client)
        #expect(names(access.allowed) == [own, "/usr/bin/true"] && access.allowed.map(\.use) == [.read, nil])
        // As it was, and narrower: for a use in place of all, and without the program itself.
        try replace(access.allowed, by: client)
        try replace([AccessRule(.asking, .read), AccessRule(.path("/usr/bin/true"), .sign)], by: client)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try replace(access.allowed, by: client) }
        try replace([access.allowed[1]].map { AccessRule($0.program, .sign) }, by: client)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(by: client) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try replace([access.allowed[0]], by: client) }
        #expect(person.questions.count == 2)
    }

    @Test func aRefusalChangesNothing() throws {
        let client = try client(.call, Decides(.allowOnce, .allowOnce, .deny))
        try replace([AccessRule(.path("/usr/bin/true"))], by: client, Self.asking)
        let former = try access(client)
        #expect(throws: KeychainError(.userCanceled)) {
            try replace([AccessRule(.path("/usr/bin/false")), AccessRule(.any)], by: client, Self.asking)
        }
        #expect(throws: KeychainError(.param)) {
            try replace([AccessRule(.path("/nothing"))], by: client, Self.asking)
        }
        let many = [AccessRule](repeating: AccessRule(.path("/usr/bin/true")), count: AccessRule.maximumCount + 1)
        #expect(throws: KeychainError(.param)) { try replace(many, by: client, Self.asking) }
        #expect(try access(client) == former)
    }

    @Test func aDenialStays() throws {
        let client = try client(.call, Decides(.allowOnce, .allowOnce, .allowOnce))
        _ = try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        try replace([AccessRule(.any), AccessRule(.asking), AccessRule(.asking, .read)], by: client, Self.asking)
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client) }
        let access = try access(client)
        #expect(names(access.denied) == [own] && access.denied.map(\.use) == [nil])
        #expect(access.allowed.map(\.program).first == .any)
        try replace([], by: client)
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client) }
        #expect(throws: KeychainError(.userCanceled)) { try read(by: later()) }
    }

    // MARK: Makers

    @Test func aMakerNamesProgramsUntilItTrustsItselfNoMore() throws {
        let client = try client()
        let made = try client.addPassword("own")
        #expect(try names(access(client, to: made.reference).allowed) == [own])
        try replace([AccessRule(.asking), AccessRule(.path("/usr/bin/true"))], of: made.reference, by: client)
        try replace([AccessRule(.any)], of: made.reference, by: client)
        #expect(try access(client, to: made.reference).allowed == [AccessRule(.any)])
        try replace([], of: made.reference, by: client)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try client.service.secret(of: made.reference, Self.silent)
        }
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try replace([AccessRule(.asking)], of: made.reference, by: client)
        }
        let update = ChangeStep.update(Query(made.reference), [:], secret: .init(.of("new")))
        #expect(try client.service.change([update], Self.silent).found.updatedCount == 1, "macOS lets it be written")
    }

    // MARK: Files of programs

    @Test func aChangedFileIsNotTheProgramThatWasTrusted() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("mailer")
        try #require(Program.run(["cp", "/usr/bin/true", path]).status == 0)
        chmod(path, 0o777)
        let person = Decides(.allowOnce)
        let client = try client(.call, person)
        try replace([AccessRule(.path(path))], by: client, Self.asking)
        let trusted = try access(client).allowed
        try #require(Program.run(["cp", "/usr/bin/false", path]).status == 0)
        #expect(throws: KeychainError(.interactionNotAllowed), "it is another one") {
            try replace([AccessRule(.path(path))], by: client)
        }
        // The decision on the former one stays, and cannot be moved to an item that it was not for.
        try replace(trusted, by: client)
        #expect(try access(client).allowed == trusted)
        let second = try first.addPassword("bob")
        #expect(throws: KeychainError(.param)) {
            try replace(trusted, of: second.reference, by: client, Self.asking)
        }
        #expect(person.questions.count == 1)
    }

    // MARK: Storage

    @Test func aDamagedRowAllowsNothingAndGoes() throws {
        let client = try client(.call, Decides(.allowOnce, .allowOnce))
        try replace([AccessRule(.asking)], by: client, Self.asking)
        let file = first.login.path
        let database = [
            "python3", "-c",
            """
            import sqlite3, sys
            file = sqlite3.connect(sys.argv[1])
            file.execute("UPDATE access SET seal = zeroblob(length(seal))")
            file.commit()
            """, file,
        ]
        let damaged = try Program.run(database)
        try #require(damaged.status == 0, "\(damaged)")
        #expect(try access(later()).allowed.isEmpty)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(by: later()) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try replace([AccessRule(.asking)], by: later()) }
        try replace([], by: later())
        let count = try Program.run([
            "python3", "-c",
            "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM access').fetchone())",
            file,
        ])
        #expect(count.text == "0\n", "\(count)")
    }

    @Test func aLockedKeychainTellsAndTakesNoAccess() throws {
        let client = try client(.call, Decides(.allowOnce))
        first.login.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try access(client) }
        #expect(throws: KeychainError(.interactionNotAllowed)) { try replace([], by: client, Self.asking) }
    }

    @Test(arguments: ServiceRoute.allCases) func aHostOfOneProgramTellsAndTakesNoAccess(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(throws: KeychainError(.notAvailable)) { try access(stage) }
        #expect(throws: KeychainError(.notAvailable)) { try replace([], by: stage) }
    }

    // MARK: Keys of cards

    @Test func accessToKeysOfCardsEndsWithTheHost() throws {
        let client = try client(.call, Decides(.allowOnce))
        let key = try client.identity().key
        try replace([AccessRule(.asking, .sign)], of: key.reference, by: client, Self.asking)
        #expect(try access(client, to: key.reference).allowed.map(\.use) == [.sign])
        #expect(decisions.hasUnsaved)
        try replace([], of: key.reference, by: client)
        #expect(!decisions.hasUnsaved)
    }
}
