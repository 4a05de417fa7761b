import Glibc
import ItemDictionaries
import Platform
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainStore

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

    /// Any user may take a name in `/dev/shm`, which must not switch the memory of rejected PINs off.
    @Test func whereAnotherHasTakenTheSharedNameTheUsersCacheTakesItsPlace() throws {
        let folder = try TemporaryFolder()
        let (taken, cache) = (folder.path("taken"), folder.path("cache"))
        func shared(boot: String? = "b1") -> VolatileFolder {
            VolatileFolder(memory: [folder.path("none"), taken], cache: cache, boot: boot)
        }
        #expect(mkdir(taken, 0o777) == 0 && chmod(taken, 0o777) == 0)
        if geteuid() == 0 { #expect(chown(taken, 65_533, 65_533) == 0) }
        let first = shared()
        #expect(first.path == "\(cache)/boot-b1" && Folder.isOwn("\(cache)/boot-b1"))
        #expect(first.remark?.hasPrefix(taken) == true && first.remark?.contains("\(cache)/boot-b1") == true)
        if geteuid() == 0 { #expect(first.remark?.contains("belongs to \(User(65_533).text)") == true) }
        let directories = Directories(shared: first.path, remark: first.remark) { ["HOME": folder.path][$0] }
        let token = TokenID(driver: "piv", instance: "1")
        TokenCaches(in: directories).rejectedPINs?.remember([1], for: token)
        #expect(TokenCaches(in: directories).rejectedPINs?.recall(token) == [1])
        #expect(directories.volatileRemark == first.remark)
        // The cache stays in use when the name becomes free.
        #expect(rmdir(taken) == 0)
        #expect(shared().path == first.path && shared().remark != nil)
        // After the next boot the shared name is used again, and the cache's old folder goes.
        let next = shared(boot: "b2")
        #expect(next.path == taken && next.remark == nil)
        #expect(chmod(taken, 0o777) == 0)
        #expect(shared(boot: "b2").path == "\(cache)/boot-b2")
        #expect(Folder(path: cache).names == ["boot-b2"])
        #expect(shared(boot: nil).path == nil && shared(boot: nil).remark?.contains("not remembered") == true)
        #expect(
            shared(boot: nil).remark?.hasPrefix("\(taken) can be used by others than \(User.effective.text): ") == true)
        #expect(rmdir(taken) == 0)
        close(open(taken, O_CREAT | O_WRONLY, 0o600))
        #expect(shared(boot: nil).remark?.hasPrefix("\(taken) is not a folder: ") == true)
    }

    @Test func aStartOfTheMachineHasAName() {
        #expect(Boot.identifier?.count == 36)
        #expect(Boot.identifier == Boot.identifier)
    }

    /// After `sudo -E` the session's folder belongs to another user, who could read and change its files.
    @Test func aSessionsFolderThatIsAnotherUsersIsNotUsed() throws {
        let folder = try TemporaryFolder()
        // Without root, `/` stands for another user's folder.
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
