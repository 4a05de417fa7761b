internal import KeychainStore
internal import Platform

extension Directories {
    /// The files in the folder for keychains, `login` first, then by name.
    ///
    /// - Parameter names: lists a folder.
    func keychainFiles(_ names: (_ folder: String) -> [String] = { Folder(path: $0).names }) -> [String] {
        names(keychains).filter { $0.hasSuffix(Directories.keychainSuffix) && !$0.hasPrefix(".") }
            .map { path(ofKeychain: $0) }
            .sorted { ($0 == loginKeychain ? 0 : 1, $0) < ($1 == loginKeychain ? 0 : 1, $1) }
    }
}
