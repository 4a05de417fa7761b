internal import KeychainStore
internal import Platform

extension Directories {
    /// The files in the folder for keychains, `login` first, then by name.
    func keychainFiles() -> [String] {
        Folder(path: keychains).names.filter { $0.hasSuffix(Directories.keychainSuffix) && !$0.hasPrefix(".") }
            .map { path(ofKeychain: $0) }
            .sorted { ($0 == loginKeychain ? 0 : 1, $0) < ($1 == loginKeychain ? 0 : 1, $1) }
    }
}
