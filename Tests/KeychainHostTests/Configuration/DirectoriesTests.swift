import Glibc
import Platform
import TestSupport
import Testing

@testable import KeychainHost

@Suite struct DirectoriesTests {
    private func directories(_ variables: [String: String]) -> Directories {
        Directories { variables[$0] }
    }

    @Test func withoutVariablesEverythingIsBelowTheHome() {
        let directories = directories(["HOME": "/h"])
        #expect(directories.data == "/h/.local/share/tokenkit")
        #expect(directories.configuration == "/h/.config/tokenkit")
        #expect(directories.cache == "/h/.cache/tokenkit")
        #expect(directories.runtime == directories.data)
        #expect(directories.system == "/etc/tokenkit")
        #expect(directories.loginKeychain == "/h/.local/share/tokenkit/keychains/login.keychain")
    }

    @Test func variablesMoveEachFolder() {
        let directories = directories([
            "HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k",
            "XDG_RUNTIME_DIR": "/r",
        ])
        #expect(directories.data == "/d/tokenkit")
        #expect(directories.configuration == "/c/tokenkit")
        #expect(directories.cache == "/k/tokenkit")
        #expect(directories.runtime == "/r")
    }

    @Test func relativeAndEmptyPathsInVariablesAreIgnored() {
        let directories = directories([
            "HOME": "/h", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "", "XDG_RUNTIME_DIR": "./run",
        ])
        #expect(directories.data == "/h/.local/share/tokenkit")
        #expect(directories.configuration == "/h/.config/tokenkit")
        #expect(directories.runtime == directories.data)
    }

    @Test func whatIsGoneWithTheMachineIsInTheSessionsFolderOrInTheSharedOne() {
        let session = Directories(shared: "/shared") { ["HOME": "/h", "XDG_RUNTIME_DIR": "/r"][$0] }
        #expect(session.volatile == "/r")
        #expect(Directories(shared: "/shared") { ["HOME": "/h"][$0] }.volatile == "/shared")
        #expect(directories(["HOME": "/h"]).volatile == nil)
    }

    /// After `sudo -E` it is the other user's, who would see and change what is kept there.
    @Test func aSessionsFolderThatIsAnotherUsersIsNotUsed() throws {
        let folder = try TemporaryFolder()
        // Whoever is not root has the system's root folder for that.
        let anothers = geteuid() == 0 ? folder.path("another") : "/"
        if geteuid() == 0 { #expect(mkdir(anothers, 0o700) == 0 && chown(anothers, 65534, 65534) == 0) }
        let directories = Directories(shared: "/shared") { ["HOME": "/h", "XDG_RUNTIME_DIR": anothers][$0] }
        #expect(directories.volatile == "/shared")
        #expect(directories.runtime == directories.data)
    }

    @Test func aFolderThatOthersMayWriteToOrThatIsALinkIsNotTheUsersOwn() throws {
        let folder = try TemporaryFolder()
        #expect(mkdir(folder.path("own"), 0o700) == 0)
        #expect(mkdir(folder.path("open"), 0o700) == 0 && chmod(folder.path("open"), 0o755) == 0)
        #expect(symlink(folder.path("own"), folder.path("link")) == 0)
        #expect(
            ["own", "open", "link", "missing"].map { Folder.isOwn(folder.path($0)) } == [true, false, false, false])
    }

    @Test func withoutAHomeTheSystemsRecordOfTheUserTells() throws {
        let entry = try #require(getpwuid(geteuid()))
        #expect(directories([:]).home == String(cString: entry.pointee.pw_dir))
        #expect(directories(["HOME": "relative"]).home == directories([:]).home)
    }

    @Test(arguments: [
        ("login", "/h/.local/share/tokenkit/keychains/login.keychain"),
        ("a.keychain", "/h/.local/share/tokenkit/keychains/a.keychain"),
        ("~/a", "/h/a"), ("./a", "./a"), ("/x/y", "/x/y"), ("", ""),
    ])
    func aNameIsAKeychainInTheFolderAndAPathIsAPath(name: String, path: String) {
        #expect(directories(["HOME": "/h"]).path(ofKeychain: name) == path)
    }

    @Test func theHomeIsShownAsATilde() {
        let directories = directories(["HOME": "/h"])
        #expect(directories.abbreviated("/h/a") == "~/a")
        #expect(directories.abbreviated("/hh/a") == "/hh/a")
        #expect(directories.abbreviated("/h") == "/h")
    }

    @Test func theFolderIsListedLoginFirstThenByName() throws {
        let folder = try TemporaryFolder()
        let directories = Directories { $0 == "XDG_DATA_HOME" ? folder.path : nil }
        #expect(directories.keychainFiles().isEmpty)
        try Folder(path: directories.keychains).make()
        for name in ["z.keychain", "login.keychain", "a.keychain", "a.keychain-wal", "notes.txt", ".b.keychain"] {
            try folder.write("tokenkit/keychains/\(name)", "")
        }
        let names = directories.keychainFiles().compactMap { $0.split(separator: "/").last }
        #expect(names == ["login.keychain", "a.keychain", "z.keychain"])
    }

    @Test func theEnvironmentOfTheProcessIsRead() {
        #expect(Environment.variable("PATH")?.isEmpty == false)
        #expect(Environment.variable("TOKENKIT_NO_SUCH_VARIABLE") == nil)
    }
}
