import Glibc
import HostAPI
import KeychainModel
import Platform
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

@testable import KeychainHost
@testable import KeychainStore

/// A process that is not this one.
final class OtherProgram {
    let handle: ProcessHandle?
    private let child: ChildProcess

    init() throws {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        child = try ChildProcess(["sleep", "600"], streams: [null, null, null])
        let process = child.identifier
        try #require(eventually { Executable.name(of: process) == "sleep" })
        handle = ProcessHandle(process)
    }

    deinit {
        kill(child.identifier, SIGKILL)
        child.wait()
    }
}

/// A program uses items of a keychain that another program has unlocked only where a person allows it.
@Suite struct ServicePermissionTests {
    private static let asking = RequestContext(questions: .byHost)
    private static let silent = RequestContext(questions: .never)

    private let files = SharedKeychains(forSession: true)
    private let decisions = AccessDecisions(denialLasts: .zero)
    private let other: OtherProgram

    init() throws { other = try OtherProgram() }

    /// A program with the keychains and their password, which it has given.
    private func giver(_ route: ServiceRoute = .call) throws -> ServiceStage {
        let stage = try ServiceStage(route, files: files, permission: permission(Decides()))
        stage.login.lock()
        try stage.service.unlock(
            stage.login.identifier, for: nil,
            RequestContext(questions: .never, credentials: [.init(.password, .of("p"))]))
        return stage
    }

    private func permission(_ person: any Prompter) -> Permission {
        Permission(decisions, of: AskingProgram(other.handle), asking: person)
    }

    /// Another client of the host, of this process, about which a person is asked.
    private func client(
        of other: ServiceStage, on route: ServiceRoute = .call, _ person: any Prompter,
        typing typed: TypesInTurn = TypesInTurn()
    ) throws -> ServiceStage {
        try ServiceStage(
            route, of: other, person: typed, cards: nil, files: files,
            permission: Permission(decisions, of: AskingProgram(ProcessHandle(getpid())), asking: person))
    }

    private func read(
        _ item: Item, by client: ServiceStage, _ context: RequestContext = ServicePermissionTests.asking
    ) throws -> String? {
        try client.service.secret(of: item.reference, context).map {
            String(decoding: $0.secret.copiedBytes, as: UTF8.self)
        }
    }

    @Test(arguments: ServiceRoute.allCases)
    func anotherProgramIsAskedAboutForASecret(_ route: ServiceRoute) throws {
        let first = try giver(route)
        let item = try first.addPassword("anna")
        #expect(try read(item, by: first) == "s3cret")
        let person = Decides(.allowOnce, .deny, .allowAlways)
        let second = try client(of: first, on: route, person)
        #expect(try second.accounts() == ["anna"], "to list asks nobody")
        #expect(person.questions.isEmpty)
        #expect(try read(item, by: second, RequestContext(purpose: "log in to mail", questions: .byHost)) == "s3cret")
        #expect(throws: KeychainError(.userCanceled)) { try read(item, by: second) }
        for _ in 1...2 { #expect(try read(item, by: second) == "s3cret") }
        let question = try #require(person.questions.first)
        #expect((question.use, question.item, question.purpose) == (.read, "mail of anna in login", "log in to mail"))
        #expect(person.questions.count == 3)
        #expect(second.person.requests.isEmpty, "nobody is asked for the password")
    }

    @Test func whereNobodyCanBeAskedItFailsAtOnce() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        let person = Decides(.allowAlways)
        let second = try client(of: first, person)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, by: second, Self.silent) }
        #expect(person.questions.isEmpty)
        #expect(try read(item, by: second) == "s3cret")
        #expect(try read(item, by: second, Self.silent) == "s3cret", "a decision needs no person")
    }

    @Test func aProgramThatGivesThePasswordIsNotAskedAbout() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        let person = Decides()
        let second = try client(of: first, person)
        let given = RequestContext(questions: .never, credentials: [.init(.password, .of("p"))])
        try second.service.unlock(first.login.identifier, for: nil, given)
        #expect(try read(item, by: second, Self.silent) == "s3cret")
        #expect(person.questions.isEmpty)
        #expect(throws: KeychainError(.authFailed)) {
            let wrong = RequestContext(questions: .never, credentials: [.init(.password, .of("q"))])
            try client(of: first, person).service.unlock(first.login.identifier, for: nil, wrong)
        }
    }

    @Test func aProgramForWhichAPersonTypedThePasswordIsNotAskedAbout() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        first.login.lock()
        let person = Decides()
        let second = try client(of: first, person, typing: TypesInTurn("p"))
        #expect(try read(item, by: second) == "s3cret")
        #expect(second.person.requests.count == 1)
        #expect(person.questions.isEmpty)
    }

    @Test func aProgramMayReadWhatItAdded() throws {
        let first = try giver()
        let person = Decides(.deny)
        let second = try client(of: first, person)
        let own = try second.addPassword("own")
        #expect(try read(own, by: second, Self.silent) == "s3cret")
        let other = try first.addPassword("other")
        #expect(throws: KeychainError(.userCanceled)) { try read(other, by: second) }
        #expect(person.questions.count == 1)
    }

    @Test func aKeyAsksForEachUseByItself() throws {
        let first = try giver()
        let key = try first.service.add(.privateKey(TestKey.named("anna").privateKey, [.label: .string("anna")]))
        let person = Decides(.allowAlways, .deny)
        let second = try client(of: first, person)
        let request = KeyRequest(.sign(ServiceStage.digest), ServiceStage.algorithm, with: key.reference)
        for _ in 1...2 { _ = try second.service.perform(request, Self.asking) }
        #expect(throws: KeychainError(.userCanceled)) { try read(key, by: second) }
        #expect(person.questions.map(\.use) == [.sign, .export])
        #expect(person.questions.map(\.item) == ["anna in login", "anna in login"])
    }

    /// Its file has nothing that a program of the user could not read.
    @Test func aKeychainWithoutAPasswordAsksNothing() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        try first.login.changePassword(from: .of("p"), to: .of(""), cost: .negligible)
        let person = Decides()
        #expect(try read(item, by: client(of: first, person), Self.silent) == "s3cret")
        #expect(person.questions.isEmpty)
    }

    /// The questions end with the lock: what was allowed opens nothing then.
    @Test func aDecisionDoesNotUnlock() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        let second = try client(of: first, Decides(.allowAlways))
        #expect(try read(item, by: second) == "s3cret")
        first.login.lock()
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, by: second, Self.silent) }
    }

    @Test func aHostOfOneProgramAsksForNoPermission() throws {
        let stage = try ServiceStage(.call)
        let item = try stage.addPassword("anna")
        #expect(try read(item, by: stage, Self.silent) == "s3cret")
        #expect(try stage.isSignature(stage.sign(.cardAuthentication, Self.silent), of: .cardAuthentication))
    }

    // MARK: Files that a program has altered

    /// Changes the keychain's own row, as a program of the user can that has made its checksum anew.
    private func alter(_ stage: ServiceStage, _ sql: String, _ values: [SQLValue] = []) throws {
        let database = try KeychainConnection.connect(stage.login.path, access: .readWrite)
        try database.run(sql, values)
        try database.stampRows(of: "keychain")
    }

    private func row(of stage: ServiceStage) throws -> WrappedKey {
        try WrappedKey(readingFrom: KeychainConnection.connect(stage.login.path, access: .readOnly))
    }

    private func put(_ row: WrappedKey, withCheck: Bool = true, in stage: ServiceStage) throws {
        let cost = row.cost
        try alter(
            stage, "UPDATE keychain SET scrypt_n = ?, scrypt_r = ?, scrypt_p = ?, salt = ?, wrapped_key = ?",
            [
                .integer(Int64(cost.n)), .integer(Int64(cost.r)), .integer(Int64(cost.p)), .blob(row.salt),
                .blob(row.wrapped),
            ])
        if withCheck { try alter(stage, "UPDATE keychain SET key_check = ?", [.blob(row.check)]) }
    }

    /// Another key for the keychain, under a password that its maker knows.
    private func ownKey(for stage: ServiceStage) throws -> WrappedKey {
        try WrappedKey(
            wrapping: RandomBytes.makeSecret(count: WrappedKey.keyLength), of: row(of: stage).keychain,
            password: .of("q"), cost: .negligible)
    }

    private static let own = RequestContext(questions: .never, credentials: [.init(.password, .of("q"))])

    @Test func aFileThatSaysThatItHasNoPasswordIsNotBelieved() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        try alter(first, "UPDATE keychain SET has_password = 0")
        let second = try client(of: first, Decides())
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, by: second, Self.silent) }
        #expect(try read(item, by: first, Self.silent) == "s3cret")
    }

    @Test func aPasswordForAnotherKeyThanTheUnlockedOneIsNone() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        try put(ownKey(for: first), withCheck: false, in: first)
        let second = try client(of: first, Decides())
        _ = try? second.service.unlock(first.login.identifier, for: nil, Self.own)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, by: second, Self.silent) }
        // For an item that asks each time, neither.
        let authentication = AuthenticationContext()
        authentication.setCredential(.of("q"), .password)
        #expect(throws: KeychainError(.invalidKeychain)) {
            try files.keychain(at: first.login.path).confirmPresence(use: "read", authentication: authentication)
        }
    }

    @Test func aPasswordForAKeyThatWasThereForAWhileIsNone() throws {
        let first = try giver()
        let item = try first.addPassword("anna")
        let second = try client(of: first, Decides())
        let file = try files.keychain(at: first.login.path)
        file.lock()
        let former = try row(of: first)
        try put(ownKey(for: first), in: first)
        try second.service.unlock(first.login.identifier, for: nil, Self.own)
        file.lock()
        try put(former, in: first)
        try first.service.unlock(
            first.login.identifier, for: nil,
            RequestContext(questions: .never, credentials: [.init(.password, .of("p"))]))
        #expect(try read(item, by: first, Self.silent) == "s3cret")
        #expect(throws: KeychainError(.interactionNotAllowed)) { try read(item, by: second, Self.silent) }
    }

    /// The card would open the keychain from then on.
    @Test func aProgramBindsACardOnlyWithThePassword() throws {
        let first = try giver()
        let person = TypesInTurn()
        let second = try client(of: first, Decides(), typing: person)
        let card = try first.token
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try second.service.bind(first.login.identifier, to: card, key: nil, Self.silent)
        }
        #expect(try files.keychain(at: first.login.path).cardBindings().isEmpty)
    }

    // MARK: Keys without a PIN

    @Test(arguments: ServiceRoute.allCases)
    func aKeyThatNeedsNoPINIsAskedAbout(_ route: ServiceRoute) throws {
        let person = Decides(.allowOnce, .deny)
        let stage = try ServiceStage(route, permission: permission(person))
        #expect(throws: KeychainError(.interactionNotAllowed)) {
            try stage.sign(.cardAuthentication, Self.silent)
        }
        #expect(person.questions.isEmpty)
        #expect(try stage.isSignature(stage.sign(.cardAuthentication, Self.asking), of: .cardAuthentication))
        #expect(throws: KeychainError(.userCanceled)) { try stage.sign(.cardAuthentication, Self.asking) }
        #expect(person.questions.map(\.use) == [.sign, .sign])
        #expect(person.questions.first?.item.hasPrefix("key 9E of ") == true)
    }

    @Test func whoGaveThePINIsNotAskedAboutAKeyThatNeedsNone() throws {
        let person = Decides()
        let stage = try ServiceStage(.call, person: TypesInTurn("123456"), permission: permission(person))
        _ = try stage.sign(.authentication, Self.asking)
        #expect(try stage.isSignature(stage.sign(.cardAuthentication, Self.silent), of: .cardAuthentication))
        #expect(person.questions.isEmpty)
    }
}
