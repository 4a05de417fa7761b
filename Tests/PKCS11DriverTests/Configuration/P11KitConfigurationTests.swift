import Foundation
import KeychainHost
import PKCS11Driver
import TestSupport
import Testing
import TokenKit

@testable import ModuleConfiguration

@Suite struct P11KitConfigurationTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in ["user/modules", "system/modules", "packages", "lib"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: true)
        }
        for name in ["a.so", "b.so", "c.so", "libtokenkit-pkcs11.so"] { try folder.write("lib/\(name)", "") }
    }

    private func configuration(user: Bool = true) -> P11KitConfiguration {
        P11KitConfiguration(
            program: "tokenctl",
            folders: P11KitConfiguration.Folders(
                user: user ? folder.path("user") : nil, system: folder.path("system"),
                packages: folder.path("packages"),
                modules: [folder.path("missing"), folder.path("lib")]))
    }

    private func names(user: Bool = true) -> [String] { configuration(user: user).modules().modules.map(\.name) }

    @Test func withoutFilesThereIsNone() {
        let nothing = P11KitConfiguration(
            program: "tokenctl",
            folders: P11KitConfiguration.Folders(
                user: "/nothing", system: "/nothing", packages: "/nothing", modules: []))
        #expect(nothing.modules().modules.isEmpty)
    }

    @Test func aModuleHasItsFilesNameAndItsPath() throws {
        try folder.write("packages/one.module", "# a remark\n\nmodule:   a.so \t\n")
        try folder.write("system/modules/two.module", "module: \(folder.path("lib/b.so"))\n")
        try folder.write("packages/readme.txt", "module: c.so\n")
        #expect(
            configuration().modules().modules == [
                ConfiguredModule(name: "one", path: folder.path("lib/a.so")),
                ConfiguredModule(name: "two", path: folder.path("lib/b.so")),
            ])
    }

    @Test func theUsersFileGoesBeforeTheSystemsAndThatBeforeAPackages() throws {
        try folder.write("packages/one.module", "module: a.so\npriority: 1\n")
        try folder.write("system/modules/one.module", "module: b.so\n")
        try folder.write("user/modules/one.module", "module: c.so\n")
        #expect(configuration().modules().modules.map(\.path) == [folder.path("lib/c.so")])
        #expect(configuration(user: false).modules().modules.map(\.path) == [folder.path("lib/b.so")])
    }

    @Test func theHighestPriorityComesFirst() throws {
        try folder.write("packages/a.module", "module: a.so\n")
        try folder.write("packages/b.module", "module: b.so\npriority: 5\n")
        try folder.write("packages/c.module", "module: c.so\npriority: -5\n")
        #expect(names() == ["b", "a", "c"])
    }

    @Test(arguments: [
        ("disable-in: ssh, tokenctl", false), ("disable-in: ssh", true), ("enable-in: tokenctl", true),
        ("enable-in: ssh,gpg", false), ("trust-policy: yes", false), ("trust-policy: no", true), ("remote: |x", true),
        ("critical: yes", true), ("nonsense", true),
    ])
    func aModuleIsUsedOrNot(line: String, isUsed: Bool) throws {
        try folder.write("packages/a.module", "module: a.so\n\(line)\n")
        #expect(names() == (isUsed ? ["a"] : []))
        let (_, leftOut) = configuration().modules()
        #expect(leftOut.map(\.name) == (isUsed ? [] : ["a"]))
    }

    /// With `remote`, p11-kit looks at no file, whether there is one or not.
    @Test(arguments: ["", "module: a.so\n", "module: missing.so\n"])
    func aModuleElsewhereHasNoFile(line: String) throws {
        try folder.write("packages/far.module", line + "remote: |ssh host p11-kit remote x.so\n")
        #expect(configuration().modules().modules == [ConfiguredModule(name: "far", path: nil)])
    }

    @Test func aModuleThatIsNotThereIsLeftOutAndNamed() throws {
        try folder.write("packages/a.module", "module: missing.so\n")
        try folder.write("packages/b.module", "priority: 1\n")
        #expect(names() == [])
        #expect(configuration().modules().leftOut.map(\.name) == ["a", "b"])
    }

    /// Our own module would show the same cards and keychains once more.
    @Test func ourOwnModuleIsNoneOfThem() throws {
        try folder.write("packages/tokenkit.module", "module: libtokenkit-pkcs11.so\n")
        #expect(names() == [])
    }

    @Test(arguments: [("none", ["p"]), ("merge", ["p", "u"]), ("only", ["u"])])
    func theUsersFilesCountAsTheSettingsSay(mode: String, expected: [String]) throws {
        try folder.write("packages/p.module", "module: a.so\n")
        try folder.write("user/modules/u.module", "module: b.so\n")
        try folder.write("system/pkcs11.conf", "user-config: \(mode)\n")
        #expect(names() == expected)
        #expect(names(user: false) == ["p"])
    }

    @Test func theUserMayWantHisOwnOnly() throws {
        try folder.write("packages/p.module", "module: a.so\n")
        try folder.write("user/modules/u.module", "module: b.so\n")
        try folder.write("user/pkcs11.conf", "user-config: only\n")
        #expect(names() == ["u"])
    }

    @Test func aModuleNamedByItsFileHasTheFilesName() {
        #expect(ConfiguredModule(path: "/a/b/libx.so") == ConfiguredModule(name: "libx", path: "/a/b/libx.so"))
        #expect(ConfiguredModule(path: "./x").name == "x")
    }

    @Test func aFileIsUsedOnceUnderTheFirstNameThatItHas() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("lib/link.so"), withDestinationPath: folder.path("lib/a.so"))
        try folder.write("packages/one.module", "module: a.so\n")
        try folder.write("user/modules/mine.module", "module: \(folder.path("lib/link.so"))\n")
        try folder.write("user/modules/other.module", "module: b.so\n")
        for name in ["far", "further"] { try folder.write("packages/\(name).module", "remote: |x\n") }
        #expect(names() == ["far", "further", "mine", "other"])
        #expect(
            configuration().modules().leftOut == [
                P11KitConfiguration.LeftOut(name: "one", reason: "'mine' is the same file")
            ])
        try folder.write("packages/one.module", "module: a.so\npriority: 1\n")
        #expect(names() == ["one", "far", "further", "other"])
    }

    @Test func whoNamesAFileTwiceHasItOnceAndMayUseAnyNameOfIt() throws {
        try folder.write("packages/one.module", "module: a.so\n")
        try folder.write("packages/two.module", "module: a.so\n")
        let file = folder.path("lib/a.so")
        let choice = ModuleChoice(configuration(), text: "two:\(file)")
        #expect(try choice.modules().map(\.name) == ["two"])
        #expect(try choice.modules(named: [file, "one", "two", file]).map(\.name) == ["a"])
        #expect(try choice.modules(named: ["/nothing.so", "/nothing.so", "/missing.so"]).count == 2)
    }

    /// p11-kit looks for the module once more, in the worker, under the name of the program that chose it.
    @Test(arguments: [("mailer", ["soft"]), ("tokenctl", [])] as [(String, [String])])
    func aModuleElsewhereIsThatOfTheProgramThatUsesIt(program: String, tokens: [String]) throws {
        let token = try SoftHSM()
        let command = P11KitSettings.command(
            ForeignModule.worker(for: program), knowing: "far",
            "remote: |p11-kit remote \(SoftHSM.path)\nenable-in: mailer", in: folder.path)
        let module = PKCS11Module(
            ConfiguredModule(name: "far", path: nil),
            worker: WorkerProgram(path: "/usr/bin/env", arguments: ["env"] + token.environment + command))
        let found = try? ModuleKeychain(module).tokens().compactMap { try $0.identity()?.label }
        #expect(found ?? [] == tokens)
    }
}
