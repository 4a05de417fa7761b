import Foundation
import Platform
import Settings
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

/// A user with folders of their own, and a system with settings of its own.
struct TestUser {
    let folder: TemporaryFolder
    let preferences: KeychainPreferences

    init() throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        let home = resolvedPath(folder.path) ?? folder.path
        preferences = KeychainPreferences(
            directories: Directories(system: home + "/etc", ownedBy: geteuid()) { $0 == "HOME" ? home : nil })
    }

    var directories: Directories { preferences.directories }

    /// The text of the user's settings; nil where there is no file.
    var settings: String? {
        try? String(contentsOfFile: directories.configuration + "/keychains.conf", encoding: .utf8)
    }

    func write(_ text: String, system: Bool = false) throws {
        let directory = system ? directories.system : directories.configuration
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let path = directory + "/keychains.conf"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o600)
    }

    @discardableResult
    func create(_ name: String) throws -> LocalKeychain {
        try preferences.create(name, password: .of("p"), cost: .negligible)
    }

    func path(_ name: String) -> String { directories.path(ofKeychain: name) }
}

@Suite struct KeychainPreferencesTests {
    private let user: TestUser
    private var preferences: KeychainPreferences { user.preferences }

    init() throws { user = try TestUser() }

    // MARK: Without settings

    @Test func withoutSettingsEveryKeychainInTheFolderIsVisitedAndLoginIsTheDefault() throws {
        #expect(try preferences.searchList().isEmpty)
        for name in ["work", "login", "archive"] {
            _ = try LocalKeychain.create(at: user.path(name), password: .of("p"), cost: .negligible)
        }
        #expect(try preferences.searchList() == ["login", "archive", "work"].map(user.path))
        #expect(try preferences.defaultKeychain() == user.path("login"))
        #expect(try preferences.loginKeychain() == user.path("login"))
        #expect(try preferences.open().found.map(\.name) == ["login", "archive", "work"])
        #expect(user.settings == nil)
    }

    // Case 71
    @Test func withoutAnyKeychainThereIsNoDefault() throws {
        #expect(throws: KeychainError(.noDefaultKeychain)) { try preferences.defaultKeychain() }
        #expect(throws: KeychainError(.noDefaultKeychain)) { try LocalKeychain.open(preferences.defaultKeychain()) }
        #expect(throws: KeychainError(.noDefaultKeychain)) { try preferences.defaultKeychain(in: .system) }
    }

    // MARK: Creating and deleting

    @Test func theFirstKeychainBecomesTheDefaultAndLaterOnesDoNot() throws {
        try user.create("work")
        #expect(try preferences.defaultKeychain() == user.path("work"))
        try user.create("more")
        #expect(try preferences.defaultKeychain() == user.path("work"))
        #expect(try LocalKeychain.open(preferences.defaultKeychain()).name == "work")
    }

    @Test func loginIsTheDefaultWithoutASetting() throws {
        try user.create("login")
        #expect(try preferences.defaultKeychain() == user.path("login"))
        #expect(user.settings == nil)
    }

    @Test func aKeychainElsewhereJoinsTheSearchListAtItsEnd() throws {
        try user.create("login")
        let elsewhere = try user.create(user.folder.path("elsewhere"))
        #expect(try preferences.searchList() == [user.path("login"), elsewhere.path])
        try user.create("later")
        #expect(try preferences.searchList() == [user.path("login"), elsewhere.path, user.path("later")])
    }

    @Test func creatingWhatIsThereChangesNoSetting() throws {
        try user.create("work")
        let settings = user.settings
        let path = user.folder.path("other")
        _ = try LocalKeychain.create(at: path, password: .of("p"), cost: .negligible)
        #expect(throws: KeychainError(.duplicateKeychain)) { try user.create("work") }
        #expect(throws: KeychainError(.duplicateKeychain)) { try user.create(path) }
        #expect(user.settings == settings)
    }

    @Test func deletingTakesFileListEntryAndDefault() throws {
        let keychain = try user.create(user.folder.path("k"))
        try preferences.setLoginKeychain(keychain.path)
        #expect(try preferences.defaultKeychain() == keychain.path)
        try preferences.delete(keychain.path)
        #expect(!FileManager.default.fileExists(atPath: keychain.path))
        #expect(!FileManager.default.fileExists(atPath: keychain.path + "-wal"))
        #expect(try preferences.searchList().isEmpty)
        #expect(throws: KeychainError(.noDefaultKeychain)) { try preferences.defaultKeychain() }
        #expect(try preferences.loginKeychain() == user.path("login"))
    }

    @Test func aListedKeychainWhoseFileIsGoneCanBeDeletedFromTheList() throws {
        let keychain = try user.create(user.folder.path("k"))
        try FileManager.default.removeItem(atPath: keychain.path)
        try preferences.delete(keychain.path)
        #expect(try preferences.searchList().isEmpty)
        #expect(throws: KeychainError(.noSuchKeychain)) { try preferences.delete(keychain.path) }
    }

    @Test func whatIsNoKeychainIsNotDeleted() throws {
        let thesis = try user.folder.write("thesis", "three years of work")
        chmod(thesis, 0o600)
        try preferences.setSearchList([thesis])
        #expect(throws: KeychainError(.invalidKeychain)) { try preferences.delete(thesis) }
        #expect(FileManager.default.fileExists(atPath: thesis))
    }

    @Test func aLinkIsNotDeletedNorWhatItLeadsTo() throws {
        let keychain = try user.create(user.folder.path("k"))
        let settings = user.settings
        let link = user.folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: keychain.path)
        let error = try #require(throws: KeychainError.self) { try preferences.delete(link) }
        #expect(error.code == .param)
        #expect(error.reason == "\(link) is a symbolic link to \(keychain.path)")
        try FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere")
        #expect(throws: KeychainError(.param)) { try preferences.delete(link) }
        #expect(keychain.isValid)
        #expect(user.settings == settings)
        // A folder on the path may be a symbolic link: the keychain to delete is still unambiguous.
        let folder = user.folder.path("folder")
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: user.folder.path)
        try preferences.delete(folder + "/k")
        #expect(!keychain.isValid)
    }

    @Test func deletingForgetsOtherNamesInTheSettings() throws {
        let keychain = try user.create(user.folder.path("k"))
        let link = user.folder.path("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: keychain.path)
        try user.write("keychain = \(link)\ndefault-keychain = ~/link\n")
        try preferences.delete(keychain.path)
        #expect(user.settings == "keychain =\n")
    }

    // MARK: Search list

    @Test func theListKeepsItsOrderAndForgetsRepetitions() throws {
        let paths = ["/b", "/a", "/b", "/c/../a"]
        try preferences.setSearchList(paths)
        #expect(try preferences.searchList(in: .user) == ["/b", "/a", "/c/../a"])
        try preferences.setSearchList([])
        try user.create("in-the-folder")
        #expect(try preferences.searchList() == [user.path("in-the-folder")])
    }

    @Test func anEmptyListIsNotTheFolder() throws {
        try user.create("login")
        try preferences.setSearchList([])
        #expect(try preferences.searchList().isEmpty)
    }

    @Test func theSystemsKeychainsComeAfterTheUsers() throws {
        try user.write("keychain = /shared\n", system: true)
        try preferences.setSearchList(["/own"])
        #expect(try preferences.searchList() == ["/own", "/shared"])
        #expect(try preferences.searchList(in: .user) == ["/own"])
        #expect(try preferences.searchList(in: .common) == ["/shared"])
    }

    @Test func whatIsSetForTheSystemIsForAllToReadAndTheUsersForNobodyElse() throws {
        try preferences.setSearchList(["/shared"], in: .system)
        try preferences.setSearchList(["/own"], in: .user)
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(user.directories.system) == 0o755)
        #expect(try mode(user.directories.system + "/keychains.conf") == 0o644)
        #expect(try mode(user.directories.configuration) == 0o700)
        #expect(try mode(user.directories.configuration + "/keychains.conf") == 0o600)
    }

    @Test func settingTheUsersListDropsWhatIsTheSystems() throws {
        try preferences.setSearchList(["/shared"], in: .system)
        try preferences.setSearchList(["/shared", "/own"])
        #expect(try preferences.searchList(in: .user) == ["/own"])
        #expect(try preferences.searchList() == ["/own", "/shared"])
    }

    @Test func nobodySetsTheCardsDomain() throws {
        let error = KeychainError(.invalidPreferencesDomain)
        #expect(throws: error) { try preferences.searchList(in: .dynamic) }
        #expect(throws: error) { try preferences.setSearchList([], in: .dynamic) }
        #expect(throws: error) { try preferences.defaultKeychain(in: .dynamic) }
        #expect(throws: error) { try preferences.setDefaultKeychain(nil, in: .dynamic) }
    }

    // MARK: The cards' PINs

    @Test func theShorterOfTheUsersAndTheSystemsPINTimeoutHolds() throws {
        #expect(try preferences.pinTimeout() == nil)
        #expect(preferences.effectivePINTimeout == nil)
        try preferences.setPINTimeout(600, in: .system)
        #expect(try preferences.pinTimeout() == 600)
        #expect(try preferences.pinTimeout(in: .user) == nil)
        try preferences.setPINTimeout(300)
        #expect(preferences.effectivePINTimeout == .seconds(300))
        try preferences.setPINTimeout(900)
        #expect(try preferences.pinTimeout() == 600)
        try preferences.setPINTimeout(nil, in: .system)
        #expect(try preferences.pinTimeout() == 900)
        try preferences.setPINTimeout(nil)
        #expect(try preferences.pinTimeout() == nil)
    }

    @Test func aCardProvesItsKeyWhereTheUserOrTheSystemWantsIt() throws {
        #expect(try !preferences.provesBeforePIN() && !preferences.effectiveProofBeforePIN)
        try preferences.setProvesBeforePIN(true, in: .system)
        #expect(try preferences.provesBeforePIN())
        #expect(try preferences.provesBeforePIN(in: .user) == nil)
        try preferences.setProvesBeforePIN(false)
        #expect(preferences.effectiveProofBeforePIN)
        try preferences.setProvesBeforePIN(nil, in: .system)
        #expect(try !preferences.provesBeforePIN())
        try preferences.setProvesBeforePIN(true)
        #expect(preferences.effectiveProofBeforePIN)
        #expect(throws: KeychainError(.invalidPreferencesDomain)) {
            try preferences.setProvesBeforePIN(true, in: .dynamic)
        }
    }

    @Test func aPINTimeoutOfNothingIsRefused() throws {
        #expect(throws: KeychainError(.param)) { try preferences.setPINTimeout(0) }
        #expect(throws: KeychainError(.invalidPreferencesDomain)) {
            try preferences.setPINTimeout(5, in: .dynamic)
        }
    }

    @Test func settingsThatCannotBeReadLetNoPINCountForLong() throws {
        try user.write("pin-timeout = soon\n")
        #expect(throws: KeychainError(.decode)) { try preferences.pinTimeout() }
        #expect(preferences.effectivePINTimeout == .seconds(1))
    }

    @Test func whatCannotBeOpenedIsReportedAndHidesNothing() throws {
        let good = try user.create("good")
        let broken = try user.folder.write("broken", "no keychain at all")
        chmod(broken, 0o600)
        try preferences.setSearchList(["/nowhere/k", broken, good.path])
        let opened = try preferences.open()
        #expect(opened.found.map(\.path) == [good.path])
        #expect(opened.missing.map(\.error.code) == [.noSuchKeychain, .invalidKeychain])
        #expect(opened.missing.map(\.kind) == [.absentKeychain, .unreadableKeychain])
        let list = SearchList(locals: opened.found, missing: opened.missing)
        #expect(try list.items(matching: Query(.certificate)).missing == opened.missing)
    }

    @Test func onlyIfEveryKeychainFailedTheSearchDoes() throws {
        try preferences.setSearchList(["/nowhere/a", "/nowhere/b"])
        let opened = try preferences.open()
        let list = SearchList(locals: opened.found, missing: opened.missing)
        #expect(throws: KeychainError(.noSuchKeychain)) { try list.items(matching: Query(.certificate)) }
        #expect(try SearchList().items(matching: Query(.certificate)).found.isEmpty)
    }

    @Test func lockingAllLocksEachOpenFileAndTellsWhatIsMissing() throws {
        let keychains = try ["login", "work", "other"].map { try user.create($0) }
        try preferences.setSearchList(keychains.dropLast().map(\.path) + ["/nowhere"])
        let process = ProcessKeychains(preferences)
        for keychain in keychains { process.adopt(keychain) }
        #expect(try process.lockFiles().map(\.error.code) == [.noSuchKeychain])
        #expect(keychains.map(\.isLocked) == [true, true, true])
    }

    // MARK: Default

    @Test func aReadOnlyKeychainIsNoDefault() throws {
        let keychain = try user.create(user.folder.path("k"))
        chmod(keychain.path, 0o400)
        #expect(throws: KeychainError(.writePermission)) { try preferences.setDefaultKeychain(keychain.path) }
        #expect(throws: KeychainError(.noSuchKeychain)) { try preferences.setDefaultKeychain("/nowhere/k") }
    }

    @Test func theUsersDefaultComesBeforeTheSystems() throws {
        let (own, shared) = (try user.create(user.folder.path("own")), try user.create(user.folder.path("shared")))
        try preferences.setDefaultKeychain(shared.path, in: .system)
        try preferences.setDefaultKeychain(own.path)
        #expect(try preferences.defaultKeychain() == own.path)
        try preferences.setDefaultKeychain(nil)
        #expect(try preferences.defaultKeychain() == shared.path)
    }

    // MARK: The file

    @Test func commentsAndTheFilesModeSurviveAChange() throws {
        try user.write("# mine\nkeychain = /a\n")
        chmod(user.directories.configuration + "/keychains.conf", 0o644)
        try preferences.setLoginKeychain("/l")
        #expect(user.settings == "# mine\nkeychain = /a\nlogin-keychain = /l\n")
        let path = user.directories.configuration + "/keychains.conf"
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o644)
    }

    @Test func aLinkToTheFileStaysOne() throws {
        let real = try user.folder.write("dotfiles", "keychain = /a\n")
        chmod(real, 0o600)
        try Folder(path: user.directories.configuration).make()
        let path = user.directories.configuration + "/keychains.conf"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: real)
        try preferences.setSearchList(["/b"])
        #expect(try String(contentsOfFile: real, encoding: .utf8) == "keychain = /b\n")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == real)
    }

    @Test func aFileThatOthersWriteIsNotBelieved() throws {
        try user.write("keychain = /a\n")
        chmod(user.directories.configuration + "/keychains.conf", 0o666)
        #expect(throws: KeychainError(.noAccessForItem)) { try preferences.searchList() }
        #expect(throws: KeychainError(.noAccessForItem)) { try preferences.setSearchList([]) }
    }

    @Test func whatIsNoSettingsFileIsRefused() throws {
        let path = user.directories.configuration + "/keychains.conf"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(throws: KeychainError(.decode)) { try preferences.searchList() }
        try FileManager.default.removeItem(atPath: path)
        mkfifo(path, 0o600)
        #expect(throws: KeychainError(.decode)) { try preferences.searchList() }
        try FileManager.default.removeItem(atPath: path)
        try user.write(String(repeating: "#", count: PreferencesText.maximumLength + 1))
        #expect(throws: KeychainError(.decode)) { try preferences.searchList() }
        #expect(FileManager.default.createFile(atPath: path, contents: Data([0x23, 0xFF, 0xFE])))
        chmod(path, 0o600)
        #expect(throws: KeychainError(.decode)) { try preferences.searchList() }
    }

    @Test func brokenSettingsOfTheSystemHideNoKeychainOfTheUser() throws {
        try user.create("login")
        try user.write("nonsense\n", system: true)
        let opened = try preferences.open()
        #expect(opened.found.map(\.name) == ["login"])
        #expect(opened.missing.map(\.error.code) == [.decode])
    }

    @Test func manyWritersLoseNoChange() async throws {
        let (user, count) = (user, 24)
        try preferences.setSearchList([])
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { #expect(throws: Never.self) { try user.preferences.enlist("/k\(number)") } }
            }
        }
        #expect(try Set(preferences.searchList()) == Set((0..<count).map { "/k\($0)" }))
        let names = try FileManager.default.contentsOfDirectory(atPath: user.directories.configuration)
        #expect(Set(names) == ["keychains.conf", "keychains.conf.lock"])
    }

    @Test func aFullListIsRefusedAndTheOldOneStays() throws {
        try preferences.setSearchList(["/a"])
        let many = (0..<600).map { "/" + String(repeating: "x", count: 120) + "\($0)" }
        #expect(throws: KeychainError(.dataTooLarge)) { try preferences.setSearchList(many) }
        #expect(try preferences.searchList() == ["/a"])
    }
}
