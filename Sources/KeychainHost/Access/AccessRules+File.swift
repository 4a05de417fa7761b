package import KeychainModel
package import Platform
package import Settings

extension AccessRules {
    /// The rules of the system; nil without any.
    ///
    /// - Throws: as the parser does; `errSecNoAccessForItem` for a file that others than root could write.
    package static func read(in directories: Directories) throws(KeychainError) -> AccessRules? {
        let file: PreferencesFile<AccessRules> = .ofSystem("access.conf", in: directories)
        return try file.read()
    }
}
