import Foundation
import Glibc
import KeychainModel
import Platform
import Settings
import TestSupport
import Testing

@testable import KeychainHost

/// The settings in /etc/tokenkit beside the user's: which of them count, and which files of the system do.
@Suite struct SystemSettingsTests {
    private let user: TestUser
    private var preferences: KeychainPreferences { user.preferences }
    private var path: String { user.directories.system + "/keychains.conf" }

    init() throws { user = try TestUser() }

    private func expectFixed(_ setting: String, _ body: () throws -> Void) {
        let error = #expect(throws: KeychainError(.writePermission)) { try body() }
        #expect(error?.reason == "the administrator has fixed \(setting) in \(path)")
    }

    // MARK: The user's choice

    @Test func aFixedSearchListIsTheOnlyOne() throws {
        try user.create("login")
        try user.write(
            "fixed keychain = /shared\nfixed keychain = ~/.local/share/tokenkit/keychains/work.keychain\n", system: true
        )
        #expect(try preferences.searchList() == ["/shared", user.path("work")])
        let paths = try preferences.open()
        #expect(paths.found.isEmpty && paths.missing.count == 2)
        expectFixed("keychain") { try preferences.setSearchList(["/own"]) }
        expectFixed("keychain") { try preferences.checkFree("other") }
        expectFixed("keychain") { try user.create("other") }
        #expect(!FileManager.default.fileExists(atPath: user.path("other")))
        // One that the system lists can be made.
        try preferences.checkFree("work")
        try user.create("work")
        #expect(try preferences.open().found.map(\.name) == ["work"])
        #expect(user.settings?.contains("\nkeychain =") != true)
    }

    @Test func aPresetSearchListIsReplacedByTheUsers() throws {
        try user.create("login")
        try user.write("preset keychain = /shared\n", system: true)
        #expect(try preferences.searchList() == [user.path("login"), "/shared"])
        try preferences.setSearchList(["/shared", "/own"])
        #expect(try preferences.searchList() == ["/shared", "/own"])
        try preferences.setSearchList([])
        #expect(try preferences.searchList().isEmpty)
    }

    @Test func aFixedDefaultKeychainIsTheUsers() throws {
        let (own, shared) = (try user.create("login"), try user.create(user.folder.path("shared")))
        try user.write("fixed default-keychain = \(shared.path)\n", system: true)
        #expect(try preferences.defaultKeychain() == shared.path)
        expectFixed("default-keychain") { try preferences.setDefaultKeychain(own.path) }
        // What cannot be read fixes nothing.
        try user.write("fixed default-keychain\n", system: true)
        #expect(try preferences.defaultKeychain() == own.path)
    }

    @Test func theSystemSaysWhosePINTimeoutHolds() throws {
        for (word, own, holds): (String, UInt32, UInt32) in [
            ("", 300, 300), ("", 900, 600), ("preset ", 300, 300), ("preset ", 900, 900), ("fixed ", 300, 600),
            ("fixed ", 900, 600),
        ] {
            try user.write("pin-timeout = \(own)\n")
            try user.write("\(word)pin-timeout = 600\n", system: true)
            #expect(try preferences.pinTimeout() == holds, "\(word)\(own)")
        }
        expectFixed("pin-timeout") { try preferences.setPINTimeout(30) }
        try preferences.setPINTimeout(60, in: .system)
        #expect(try preferences.pinTimeout() == 60)
        try user.write("fixed pin-timeout =\n", system: true)
        #expect(try preferences.pinTimeout() == nil)
        try user.write("preset pin-timeout = 600\n", system: true)
        try user.write("")
        #expect(try preferences.pinTimeout() == 600)
    }

    @Test func theSystemSaysWhoseProofHolds() throws {
        for (word, shared, own, holds) in [
            ("", "on", "off", true), ("preset ", "on", "off", false), ("fixed ", "on", "off", true),
            ("fixed ", "off", "on", false), ("", "off", "on", true),
        ] {
            try user.write("pin-proof = \(own)\n")
            try user.write("\(word)pin-proof = \(shared)\n", system: true)
            #expect(try preferences.provesBeforePIN() == holds, "\(word)\(shared) \(own)")
        }
        try user.write("fixed pin-proof = on\n", system: true)
        expectFixed("pin-proof") { try preferences.setProvesBeforePIN(false) }
    }

    @Test func theSystemSaysWhosePasswordCostHolds() throws {
        #expect(try preferences.passwordCost() == .standard)
        for (word, own, holds): (String, UInt64, UInt64) in [
            ("", 16, 32), ("", 512, 512), ("preset ", 16, 16), ("fixed ", 16, 32), ("fixed ", 512, 32),
        ] {
            try user.write("password-cost = \(own)\n")
            try user.write("\(word)password-cost = 32\n", system: true)
            #expect(try preferences.passwordCost() == ScryptCost(n: holds << 10, r: 8, p: 1), "\(word)\(own)")
        }
        try user.write("password-cost = 16\n")
        try user.write("", system: true)
        #expect(try preferences.passwordCost() == ScryptCost(n: 1 << 14, r: 8, p: 1))
        try user.write("password-cost = 16\nkeychian = /a\n")
        #expect(throws: KeychainError(.decode)) { try preferences.passwordCost() }
    }

    /// A misspelt line beside one that fixes a setting does not set users free.
    @Test func whereTheSystemsSettingsCannotBeReadNothingIsSetAndNoKeychainMade() throws {
        try user.write("fixed pin-timeout = 60\nfixed keychain = /shared\npasword-cost = 16\n", system: true)
        func expectRefusal(_ change: () throws -> Void) {
            let error = #expect(throws: KeychainError(.decode)) { try change() }
            #expect(error?.reason.contains("line 3 of \(user.directories.system)/keychains.conf") == true)
        }
        expectRefusal { try preferences.setPINTimeout(9000) }
        expectRefusal { try preferences.setSearchList([]) }
        expectRefusal { try preferences.checkFree("login") }
        expectRefusal { _ = try preferences.create("login", password: .of("p")) }
    }

    @Test func aDriverIsDisabledByTheUserOrTheSystem() throws {
        try preferences.setDriver("badge", isDisabled: true)
        try preferences.setDriver("piv", isDisabled: true, in: .system)
        #expect(try preferences.disabledDrivers == ["badge", "piv"])
        #expect(try preferences.disabledDrivers(in: .system) == ["piv"])
        let error = #expect(throws: KeychainError(.writePermission)) {
            try preferences.setDriver("piv", isDisabled: false)
        }
        #expect(error?.reason == "the administrator disables 'piv' in \(user.directories.system)/disabled-drivers")
        try preferences.setDriver("badge", isDisabled: false)
        try preferences.setDriver("piv", isDisabled: false, in: .system)
        #expect(try preferences.disabledDrivers.isEmpty)
        #expect(throws: KeychainError(.invalidPreferencesDomain)) {
            try preferences.setDriver("piv", isDisabled: true, in: .dynamic)
        }
    }

    // MARK: The system's files

    @Test func aFileOfTheSystemThatOthersMayWriteIsNotRead() throws {
        try user.write("keychain = /a\n", system: true)
        for mode: mode_t in [0o664, 0o646] {
            chmod(path, mode)
            #expect(throws: KeychainError(.noAccessForItem)) { try preferences.searchList(in: .system) }
        }
        chmod(path, 0o644)
        #expect(try preferences.searchList(in: .system) == ["/a"])
    }

    /// The user is another one than the owner of the system's settings. Their own file in that place counts as little as another's.
    @Test func aFileOfTheUsersIsNoneOfTheSystem() throws {
        try user.write("keychain = /a\n", system: true)
        let directories = user.directories
        let strangers = KeychainPreferences(
            directories: Directories(system: directories.system, ownedBy: geteuid() + 1) {
                $0 == "HOME" ? directories.home : nil
            })
        // Root's file counts for everybody.
        guard geteuid() != 0 else {
            #expect(try strangers.searchList(in: .system) == ["/a"])
            try #require(chown(path, 4711, 4711) == 0)
            #expect(throws: KeychainError(.noAccessForItem)) { try preferences.searchList(in: .system) }
            return
        }
        #expect(throws: KeychainError(.noAccessForItem)) { try strangers.searchList(in: .system) }
    }

    @Test func aLinkInTheSystemsFolderIsFollowedToAFileThatCounts() throws {
        let real = try user.folder.write("managed", "keychain = /a\n")
        chmod(real, 0o644)
        try FileManager.default.createDirectory(atPath: user.directories.system, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: real)
        #expect(try preferences.searchList(in: .system) == ["/a"])
        chmod(real, 0o666)
        #expect(throws: KeychainError(.noAccessForItem)) { try preferences.searchList(in: .system) }
        // A folder in which others may replace the file.
        chmod(real, 0o644)
        let open = user.folder.path("open")
        try #require(mkdir(open, 0o777) == 0)
        chmod(open, 0o777)
        try FileManager.default.moveItem(atPath: real, toPath: open + "/managed")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: open + "/managed")
        #expect(throws: KeychainError(.noAccessForItem)) { try preferences.searchList(in: .system) }
    }

    @Test(arguments: ["keychain = /a\0", "keychian = /a", String(repeating: "a", count: 64 << 10)])
    func aLineThatIsNoSettingMakesThePINsTimeTheShortest(line: String) throws {
        try user.write("preset pin-timeout = 600\n\(line)", system: true)
        #expect(throws: KeychainError(.decode)) { try preferences.pinTimeout() }
        #expect(preferences.effectivePINTimeout == .seconds(1))
        #expect(preferences.effectiveProofBeforePIN)
    }

    @Test func aFileWithoutALineFeedAtItsEndIsWhole() throws {
        try user.write("keychain = /a\npin-timeout = 600", system: true)
        #expect(try preferences.pinTimeout() == 600)
        try preferences.setSearchList(["/b"], in: .system)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "keychain = /b\npin-timeout = 600\n")
    }

    // MARK: What is installed and explained

    private static func repository(_ path: String) throws -> String {
        try String(contentsOf: Program.packageRoot.appending(path: path), encoding: .utf8)
    }

    @Test func theFilesThatAreInstalledSetNothingAndTheirExamplesAreRight() throws {
        for (name, count) in [("keychains.conf", 5), ("access.conf", 2)] {
            let text = try Self.repository("settings/\(name)")
            let lines = text.split(separator: "\n")
            #expect(lines.allSatisfy { $0.hasPrefix("#") }, "\(name)")
            // A comment has a blank behind its sign, and an example has none.
            let examples = lines.filter { !$0.hasPrefix("# ") }.map { $0.dropFirst() + "\n" }
            #expect(examples.count == count)
            let faults =
                name == "access.conf"
                ? AccessRules.faults(in: examples.joined()) : PreferencesText.faults(in: examples.joined())
            #expect(faults.isEmpty, "\(faults)")
        }
    }

    @Test func theManualPageExplainsEachSettingAndHasRightExamples() throws {
        let page = try Self.repository("Documentation/keychains.conf.5")
        let explained = page.split(separator: "\n").filter { $0.hasPrefix(".It Ic ") }.map {
            $0.dropFirst(7).prefix { $0 != " " }
        }
        let settings = PreferencesText.Setting.allCases.map(\.rawValue)
        let words = PreferencesText.Choice.allCases.map(\.rawValue) + AccessRules.Right.allCases.map(\.rawValue)
        #expect(Set(explained.map(String.init)) == Set(settings + words))
        let examples = page.components(separatedBy: ".Bd -literal").dropFirst().map { block in
            block.split(separator: "\n").dropFirst().prefix { $0 != ".Ed" }.map { $0 + "\n" }.joined()
        }
        try #require(examples.count == 2)
        #expect(PreferencesText.faults(in: examples[0]).isEmpty && AccessRules.faults(in: examples[1]).isEmpty)
    }
}
