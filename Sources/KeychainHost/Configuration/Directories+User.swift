public import KeychainModel
internal import KeychainStore
internal import Glibc
public import Platform

extension Directories {
    /// The folders of the user whose rights the program has.
    public static var ofUser: Directories {
        let own = Directories()
        guard own.volatile == nil else { return own }
        let user = geteuid()
        let shared = VolatileFolder(memory: ["/run/user/\(user)", "/dev/shm/tokenkit-\(user)"], cache: own.cache)
        return Directories(shared: shared.path, remark: shared.remark)
    }

    /// Makes the folder for sockets where neither the session nor a keychain has made one.
    public func makeRuntime() throws(KeychainError) { try Folder(path: runtime).make() }

    /// The files in the folder for keychains, `login` first, then by name.
    func keychainFiles() -> [String] {
        Folder(path: keychains).names.filter { $0.hasSuffix(Directories.keychainSuffix) && !$0.hasPrefix(".") }
            .map { path(ofKeychain: $0) }
            .sorted { ($0 == loginKeychain ? 0 : 1, $0) < ($1 == loginKeychain ? 0 : 1, $1) }
    }
}
