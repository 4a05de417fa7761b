import Foundation
import Glibc
import HostAPI
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Decisions on programs, which people make ahead of uses.
@Suite struct ServiceAccessTests {
    static let asking = RequestContext(questions: .byHost)
    static let silent = RequestContext(questions: .never)

    private let files = SharedKeychains(forSession: true)
    let decisions: AccessDecisions
    private let other: OtherProgram
    /// The keychains, unlocked by another program.
    let first: ServiceStage
    let item: Item

    init() throws {
        decisions = AccessDecisions(policy: StoredAccess(in: files), denialLasts: .zero)
        other = try OtherProgram()
        first = try ServiceStage(
            .call, files: files,
            permission: Permission(decisions, of: AskingProgram(other.handle), asking: Decides()))
        first.login.lock()
        try first.service.unlock(
            first.login.identifier, for: nil,
            RequestContext(questions: .never, credentials: [.init(.password, .of("p"))]))
        // No program is noted as the one that made it.
        item = try first.login.add(.genericPassword([.account: "anna", .service: "mail"], secret: .of("s3cret")))
    }

    /// The program of the test.
    var own: String { Executable.path(of: getpid()) }

    /// A client of the host, of this process.
    func client(_ route: ServiceRoute = .call, _ person: any Prompter = NoPrompter()) throws -> ServiceStage {
        try ServiceStage(
            route, of: first, cards: nil, files: files,
            permission: Permission(decisions, of: AskingProgram(ProcessHandle(getpid())), asking: person))
    }

    /// The same of a host that is started later.
    func later(_ person: any Prompter = NoPrompter()) throws -> ServiceStage {
        let files = SharedKeychains(forSession: true)
        try files.keychain(at: first.login.path).unlock(password: .of("p"))
        return try ServiceStage(
            .call, of: first, cards: nil, files: files,
            permission: Permission(
                AccessDecisions(policy: StoredAccess(in: files)), of: AskingProgram(ProcessHandle(getpid())),
                asking: person))
    }

    func read(
        by client: ServiceStage, _ context: RequestContext = ServiceAccessTests.silent
    ) throws -> String? {
        try client.service.secret(of: item.reference, context).map {
            String(decoding: $0.secret.copiedBytes, as: UTF8.self)
        }
    }

    func entries(_ client: ServiceStage) throws -> [AccessEntry] {
        try client.service.accessDecisions(in: nil, Self.silent).found
    }

    // MARK: Denials

    @Test(arguments: ServiceRoute.allCases) func whatIsDeniedIsRefusedWithoutAQuestion(_ route: ServiceRoute) throws {
        let person = Decides(.allowAlways)
        let client = try client(route, person)
        #expect(try client.service.changeAccess(.deny([own], [item.reference]), Self.silent) == 1)
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client, Self.asking) }
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client) }
        #expect(person.questions.isEmpty)
        let journal = try client.service.journal(after: nil, waiting: .zero, Self.silent).entries
        #expect(journal.map(\.action) == [.read, .read] && journal.map(\.failure) == [.userCanceled, .userCanceled])
        let expected = AccessEntry(
            item: "mail of anna in login", reference: item.reference, program: own, use: nil, isAllowed: false,
            isLasting: true)
        #expect(try entries(client) == [expected])
        #expect(throws: KeychainError(.userCanceled)) { try read(by: later(person), Self.asking) }
        #expect(person.questions.isEmpty)
    }

    @Test func aDenialGoesBeforeThePasswordThatTheProgramGave() throws {
        let client = try client()
        let given = RequestContext(questions: .never, credentials: [.init(.password, .of("p"))])
        try client.service.unlock(first.login.identifier, for: nil, given)
        #expect(try read(by: client) == "s3cret")
        _ = try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client) }
    }

    // MARK: Allowing

    @Test(arguments: ServiceRoute.allCases) func aPersonConfirmsWhatIsAllowed(_ route: ServiceRoute) throws {
        let person = Decides(.deny, .allowOnce)
        let client = try client(route, person)
        let change = AccessChange.allow([own], [item.reference])
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try client.service.changeAccess(change, Self.silent)
        }
        #expect(throws: KeychainError(.userCanceled)) { try client.service.changeAccess(change, Self.asking) }
        #expect(try entries(client).isEmpty)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(by: client) }
        #expect(try client.service.changeAccess(change, Self.asking) == 1)
        #expect(try read(by: client) == "s3cret")
        #expect(person.questions.count == 2)
        let question = try #require(person.questions.last)
        #expect(question.item == "mail of anna in login" && question.program.path == own)
        #expect(!question.offersAlways && question.requester?.hasPrefix(Executable.name(of: getpid())) == true)
        #expect(try read(by: later()) == "s3cret")
    }

    @Test func eachItemAndProgramIsAskedAbout() throws {
        let second = try first.addPassword("bob")
        let person = Decides(.allowOnce, .allowOnce, .allowOnce, .deny)
        let client = try client(.call, person)
        let change = AccessChange.allow([own, "/usr/bin/env", own], [item.reference, second.reference])
        #expect(throws: KeychainError(.param), "env runs any program") {
            try client.service.changeAccess(change, Self.asking)
        }
        let both = AccessChange.allow([own, "/usr/bin/true"], [item.reference, second.reference])
        #expect(throws: KeychainError(.userCanceled)) { try client.service.changeAccess(both, Self.asking) }
        #expect(
            person.questions.map { "\($0.program.name) \($0.item)" } == [
                "\(Executable.name(of: getpid())) mail of anna in login", "true mail of anna in login",
                "\(Executable.name(of: getpid())) mail of bob in login", "true mail of bob in login",
            ])
    }

    @Test func anyProgramMayBeAllowed() throws {
        let person = Decides(.allowOnce)
        let client = try client(.call, person)
        #expect(try client.service.changeAccess(.allow(nil, [item.reference]), Self.asking) == 1)
        #expect(person.questions.first?.program.name == "any program")
        #expect(try entries(client).map(\.program) == [nil])
        #expect(try read(by: later()) == "s3cret")
    }

    @Test func whoMadeAnItemNamesItsProgramsWithoutAQuestion() throws {
        let client = try client()
        let own = try client.addPassword("own")
        #expect(try client.service.changeAccess(.allow(["/usr/bin/true"], [own.reference]), Self.silent) == 1)
        #expect(try Set(entries(client).map(\.program)) == [self.own, "/usr/bin/true"])
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try client.service.changeAccess(.allow(["/usr/bin/true"], [item.reference]), Self.silent)
        }
    }

    // MARK: Forgetting

    @Test func whatIsForgottenIsAskedAbout() throws {
        let person = Decides(.allowAlways, .deny)
        let client = try client(.call, person)
        _ = try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        #expect(try client.service.changeAccess(.reset(program: own, [item.reference]), Self.silent) == 1)
        #expect(try read(by: client, Self.asking) == "s3cret")
        #expect(try entries(client).map(\.use) == [.read])
        #expect(try client.service.changeAccess(.reset(program: nil, nil), Self.silent) == 1)
        #expect(throws: KeychainError(.userCanceled)) { try read(by: client, Self.asking) }
        #expect(person.questions.count == 2)
    }

    @Test func anItemThatTrustsNobodyIsReadByNobody() throws {
        let client = try client()
        let own = try client.addPassword("own")
        #expect(try client.service.changeAccess(.reset(program: nil, [own.reference]), Self.silent) == 1)
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try client.service.secret(of: own.reference, Self.silent)
        }
        let query = Query(own.reference)
        #expect(
            try client.service.change([.update(query, [:], secret: .init(.of("new")))], Self.silent).found.updatedCount
                == 1, "macOS lets it be written")
    }

    @Test func aProgramThatIsThereNoMoreIsForgottenByItsPath() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("mailer")
        try #require(Program.run(["cp", "/usr/bin/true", path]).status == 0)
        let client = try client()
        _ = try client.service.changeAccess(.deny([path], [item.reference]), Self.silent)
        unlink(path)
        #expect(try client.service.changeAccess(.reset(program: "/usr/bin/false", nil), Self.silent) == 0)
        #expect(try client.service.changeAccess(.reset(program: path, nil), Self.silent) == 1)
    }

    // MARK: Bad input

    @Test func programsWithoutLastingDecisionsAreRefused() throws {
        let folder = try TemporaryFolder()
        for (name, content) in [("script", "#!/bin/sh\n"), ("plain", "text"), ("tokenctl", "text")] {
            try content.write(toFile: folder.path(name), atomically: true, encoding: .utf8)
            chmod(folder.path(name), name == "plain" ? 0o600 : 0o700)
        }
        let client = try client(.message, Decides(.allowOnce))
        let paths = [
            "", "true", "/", "/nothing", "/usr/bin/true/", "/bin/sh", "/usr/bin/perl", "/dev/null",
            folder.path("script"), folder.path("plain"), folder.path("tokenctl"), "/x\u{1B}[2J\n\u{202E}",
            "/a\0b", String(repeating: "/a", count: 5000),
        ]
        for path in paths {
            for change in [AccessChange.allow([path], [item.reference]), .deny([path], [item.reference])] {
                #expect(throws: KeychainError(.param), "\(path)") {
                    try client.service.changeAccess(change, Self.asking)
                }
            }
            #expect(try client.service.changeAccess(.reset(program: path, nil), Self.silent) == 0, "\(path)")
        }
        #expect(try entries(client).isEmpty)
    }

    @Test func itemsWithoutPermissionsAreRefused() throws {
        let client = try client(.message)
        let certificates = try client.service.items(matching: Query(.certificate, limit: .all), Self.silent).found
        let certificate = try #require(certificates.first)
        #expect(throws: KeychainError(.param)) {
            try client.service.changeAccess(.deny([own], [certificate.reference]), Self.silent)
        }
        let gone = PersistentReference(.genericPassword, .local(UniqueID()))
        #expect(throws: KeychainError(.itemNotFound)) {
            try client.service.changeAccess(.deny([own], [gone]), Self.silent)
        }
        try first.login.changePassword(from: .of("p"), to: .of(""), cost: .negligible)
        #expect(throws: KeychainError(.param)) {
            try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        }
        #expect(try entries(client).isEmpty)
    }

    @Test func aLockedKeychainTellsAndTakesNoDecisions() throws {
        let client = try client(.message)
        _ = try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        first.login.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try client.service.changeAccess(.deny([own], [item.reference]), Self.silent)
        }
        let answer = try client.service.accessDecisions(in: [first.login.identifier], Self.silent)
        #expect(answer.found.isEmpty && answer.missing.map(\.error.code) == [.interactionNotAllowed])
        #expect(throws: KeychainError(.noSuchKeychain)) {
            try client.service.accessDecisions(in: [KeychainIdentifier(rawValue: "nothing")], Self.silent)
        }
    }

    @Test(arguments: ServiceRoute.allCases) func aHostOfOneProgramHasNoDecisions(_ route: ServiceRoute) throws {
        let stage = try ServiceStage(route)
        #expect(throws: KeychainError(.notAvailable)) {
            try stage.service.accessDecisions(in: nil, Self.silent)
        }
        #expect(throws: KeychainError(.notAvailable)) {
            try stage.service.changeAccess(.reset(program: nil, nil), Self.silent)
        }
    }

    // MARK: Keys of cards

    @Test func decisionsAboutKeysOfCardsEndWithTheHost() throws {
        let client = try client()
        let key = try client.identity().key
        _ = try client.service.changeAccess(.deny([own], [key.reference]), Self.silent)
        let entries = try entries(client)
        let entry = try #require(entries.first)
        #expect(entry.item.hasPrefix("key 9A of ") && !entry.isLasting && !entry.isAllowed && entry.program == own)
        #expect(decisions.hasUnsaved)
        #expect(try self.entries(later()).isEmpty)
        #expect(try client.service.changeAccess(.reset(program: nil, [key.reference]), Self.silent) == 1)
        #expect(!decisions.hasUnsaved)
    }

    // MARK: Imports

    @Test func aProgramMayUseWhatItImported() throws {
        let client = try client()
        let file = try PrivateKey.generate(.ecP256).pkcs8()
        var request = ImportRequest(SharedSecret(file), named: "key.p8")
        request.target = ImportRequest.Target(first.login.identifier)
        guard case .items(let items) = try client.service.importFile(request, Self.silent).content else {
            Issue.record("no items")
            return
        }
        let keys = items.map(\.item).filter(\.isPrivateKey)
        let key = try #require(keys.first)
        let signing = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key.reference)
        _ = try client.service.perform(signing, Self.silent)
        #expect(try entries(client).map(\.reference) == [key.reference])
    }
}
