import Foundation
import HostAPI
import ItemDictionaries
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct TypedQueryTests {
    private let user: TestUser
    private let login: LocalKeychain
    private let process: ProcessKeychains
    private let service: any KeychainService

    init() throws {
        user = try TestUser()
        login = try user.create("login")
        process = ProcessKeychains(user.preferences)
        process.adopt(login)
        service = Host(process, accessGroups: .all, prompter: NoPrompter())
    }

    @Test func passwordsOfBothKindsAreStoredFoundChangedAndDeleted() throws {
        let mail = ItemAttributes<GenericPasswords>().setting(.service, "mail").setting(.account, "anna")
        let item = try service.add(.genericPassword(mail, secret: .of("one")))
        let site = ItemAttributes<InternetPasswords>().setting(.server, "example.org").setting(.port, 443)
            .setting(.protocol, InternetProtocol(rawValue: "htps"))
        try service.add(.internetPassword(site, secret: .of("two")))
        let query = Query.genericPasswords.where(.service, "mail").where(.account, "anna")
        #expect(try service.items(query).found == [item])
        let secret = try service.secret(of: item)?.secret.copiedBytes
        #expect(secret == Array("one".utf8))
        let found = try service.items(.internetPasswords.hostOrSubdomain(of: "example.org").where(.port, 443))
            .found
        #expect(found.map { $0[.protocol] } == ["htps"])
        #expect(try service.update(query, to: [.label: "x"]).found == 1)
        #expect(try service.delete(.genericPasswords.where(.label, "x")).found == 1)
        #expect(throws: KeychainError(.itemNotFound)) { try service.delete(query) }
    }

    @Test func certificatesAndIdentitiesAreFoundByFilters() throws {
        let key = try TestKey.named("anna")
        try service.add(.certificate(key.certificate, ItemAttributes().setting(.label, "C")))
        try service.add(.privateKey(key.privateKey, ItemAttributes().setting(.applicationTag, Array("tag".utf8))))
        let valid = ItemDate(seconds: 1_700_000_000)
        #expect(
            try service.items(.certificates.subject(.startsWith, "anna").valid(on: valid)).found.count == 1)
        #expect(
            try service.items(.certificates.issued(by: [key.certificate.issuer.der]).validNow()).found.count
                == 1)
        #expect(try service.items(.certificates.subject(.contains, "ANNA").ignoring(.case)).found.count == 1)
        #expect(try service.items(.certificates.emailAddress("a@b").policy(.smime)).found.isEmpty)
        #expect(
            try service.identities(.identities.where(.keyType, .ecPrime).where(.label, "C")).found.count == 1)
        #expect(
            try service.items(.keys.where(.keyClass, .private).where(.canSign, true).first()).found.count == 1
        )
        let elsewhere = KeychainIdentifier(rawValue: "local:none")
        #expect(try service.items(.certificates.in(elsewhere)).found.isEmpty)
        #expect(
            try service.items(.certificates.among(ItemList(certificates: [key.certificate.der]))).found.count
                == 1)
    }

    @Test func whatTheCompilerCannotKnowIsChecked() {
        expect(.param, key: "m_Limit") { try service.items(.certificates.first(0)) }
        expect(.param, key: "m_CaseInsensitive") { try service.items(.keys.ignoring(.case)) }
        expect(.param, key: "class") { try service.items(.identities) }
    }

    @Test func synchronizableItemsAreFoundWhenAskedFor() throws {
        try service.add(.genericPassword([.account: "a", .synchronizable: 1], secret: nil))
        #expect(try service.items(.genericPasswords).found.isEmpty)
        #expect(try service.items(.genericPasswords.where(.synchronizable, true)).found.count == 1)
        #expect(try service.items(.genericPasswords.includingSynchronizable()).found.count == 1)
    }

    @Test func aNewItemGoesToTheClientsGroup() throws {
        let client: any KeychainService = Host(
            process, accessGroups: AccessGroups(["mine", "*"]), prompter: NoPrompter())
        let item = try client.add(.genericPassword([.account: "a"], secret: .of("s")))
        #expect(item[.accessGroup] == "mine")
        #expect(try login.secret(of: item.reference)?.copiedBytes == Array("s".utf8))
        let named = try client.add(.genericPassword([.account: "a", .accessGroup: "other"], secret: nil))
        #expect(named[.accessGroup] == "other")
    }

    @Test func withoutADefaultKeychainOneIsNamed() throws {
        let user = try TestUser()
        let work = try user.create("work")
        try user.preferences.setSearchList([work.path])
        try user.preferences.setDefaultKeychain(nil)
        let service: any KeychainService = Host(ProcessKeychains(user.preferences), prompter: TypesInTurn("p"))
        #expect(throws: KeychainError(.noDefaultKeychain)) {
            try service.add(.genericPassword([.account: "a"], secret: nil))
        }
        try service.add(.genericPassword([.account: "a"], secret: nil), to: work.identifier)
        #expect(try service.items(.genericPasswords).found.count == 1)
    }

    // MARK: What does not compile

    private static let accepted = [
        "Query.genericPasswords.where(.service, \"a\")",
        "Query.internetPasswords.where(.port, 80).hostOrSubdomain(of: \"a\")",
        "Query.certificates.where(.issuer, [1]).validNow()", "Query.keys.where(.keyType, .rsa)",
        "Query.identities.where(.subject, [1]).where(.canSign, true).subject(.contains, \"a\")",
        "ItemAttributes<Keys>().setting(.applicationTag, [1])",
    ]

    private static let refused = [
        "Query.genericPasswords.where(.server, \"a\")", "Query.genericPasswords.where(.keyType, .rsa)",
        "Query.genericPasswords.where(.service, 1)", "Query.internetPasswords.where(.service, \"a\")",
        "Query.internetPasswords.where(.port, \"80\")", "Query.internetPasswords.validNow()",
        "Query.certificates.where(.account, \"a\")", "Query.certificates.where(.keyType, .rsa)",
        "Query.certificates.hostOrSubdomain(of: \"a\")", "Query.keys.where(.issuer, [1])",
        "Query.keys.subject(.contains, \"a\")",
        "Query.identities.where(.account, \"a\")", "ItemAttributes<Certificates>().setting(.applicationTag, [1])",
    ]

    /// One statement per line, so that each has to fail by itself.
    @Test func aWrongAttributeForAClassDoesNotCompile() throws {
        let folder = try TemporaryFolder()
        let statements = Self.accepted + Self.refused
        let source = "import KeychainHost; import KeychainModel\n" + statements.map { "_ = \($0)\n" }.joined()
        let path = folder.path("main.swift")
        try Data(source.utf8).write(to: URL(filePath: path))
        let modules = ["CPCSC", "CSQLite", "COpenSSL", "CLinux", "CSystemd"].map {
            Program.packageRoot.appending(path: "Sources/\($0)/include").path
        }
        let folders = ([Self.modules] + modules).flatMap { ["-I", $0] }
        let result = try Program.run(["swiftc", "-typecheck", "-swift-version", "6"] + folders + [path])
        let lines = result.description.split(separator: "\n").filter {
            $0.contains("main.swift:") && $0.contains("error:")
        }
        let failed = Set(
            lines.compactMap { line in
                line.split(separator: "main.swift:").last?.split(separator: ":").first.flatMap { Int($0) }
            })
        for (index, statement) in statements.enumerated() {
            #expect(failed.contains(index + 2) == (index >= Self.accepted.count), "\(statement)\n\(result)")
        }
    }

    /// The folder of the built modules, beside the test bundle.
    private static var modules: String {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
        let tests = bundle ?? URL(fileURLWithPath: CommandLine.arguments.first ?? "")
        return tests.deletingLastPathComponent().appendingPathComponent("Modules").path
    }
}
