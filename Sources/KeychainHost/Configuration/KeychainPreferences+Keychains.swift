internal import Localization
internal import Platform
internal import KeychainStore
public import KeychainModel
public import SecureBytes
internal import Settings

// Keychains come and go together with their places in the settings. Keychain semantics 2.1.
extension KeychainPreferences {
    /// Checks that a keychain can be created with a name, before a person is asked for its password.
    ///
    /// - Throws: `errSecDuplicateKeychain` for a name that is taken, `errSecParam` for a path that is not a file's, and for a
    ///   name with control characters.
    func checkFree(_ name: String) throws(KeychainError) {
        let path = try newPath(name)
        try checkList(for: path)
        try KeychainFile.checkFree(path)
    }

    /// - Throws: `errSecWrPerm` where the system's search list is fixed and has not the path: no search would visit the keychain.
    private func checkList(for path: String) throws(KeychainError) {
        guard let system = try text(of: .system), !searchList(system, in: .system).contains(sameAs: path) else {
            return
        }
        try checkChoice(.keychain, in: .user)
    }

    /// The path of a keychain that is to be made. Listings could not show a control character, nor could settings keep it.
    private func newPath(_ name: String) throws(KeychainError) -> String {
        let path = directories.path(ofKeychain: name)
        guard !path.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw KeychainError(
                .param, "the keychain's name or path has a control character, as a line feed", remedy: "choose another")
        }
        return path
    }

    /// Creates a keychain, unlocked. It joins the user's search list, and becomes the default where there is none.
    ///
    /// - Parameters:
    ///   - name: as ``Directories/path(ofKeychain:)`` takes it.
    ///   - cost: the cost of one guess at the password; nil for that of the settings.
    /// - Throws: as ``LocalKeychain/create(at:password:cost:)``, and `errSecParam` for a name with control characters.
    public func create(
        _ name: String, password: borrowing Secret, cost: ScryptCost? = nil
    ) throws(KeychainError) -> LocalKeychain {
        let path = try newPath(name)
        let cost = if let cost { cost } else { try passwordCost() }
        let keychain = try LocalKeychain.create(at: path, password: password, cost: cost)
        return try enlisted(keychain)
    }

    /// Adds a new keychain to the search list, and deletes it again where that fails, so that no stray file keeps its
    /// name in use.
    private func enlisted(_ keychain: LocalKeychain) throws(KeychainError) -> LocalKeychain {
        do throws(KeychainError) {
            try enlist(keychain.path)
            return keychain
        } catch {
            try? keychain.delete()
            throw error
        }
    }

    /// Restores a keychain from a backup, unlocked. It joins the user's search list as a new one does, and gets another
    /// identity if its original is in the list.
    ///
    /// - Throws: as ``LocalKeychain/restore(_:to:password:beside:)``, and `errSecParam` for a name with control characters.
    func restore(
        _ backup: String, as name: String, password: borrowing Secret
    ) throws(KeychainError) -> LocalKeychain {
        let keychain = try LocalKeychain.restore(
            backup, to: newPath(name), password: password,
            beside: open().found.map(\.identifier))
        return try enlisted(keychain)
    }

    /// Deletes a keychain and the user's settings about it.
    ///
    /// - Throws: `errSecInvalidKeychain` for a file that is not a keychain, which is kept; `errSecParam` for a symbolic
    ///   link, since the link or its target may be meant. For a missing file, the settings about it are still deleted;
    ///   `errSecNoSuchKeychain` if there are none either.
    public func delete(_ name: String) throws(KeychainError) {
        let given = directories.path(ofKeychain: name)
        if let target = KeychainFile.target(ofLink: given) {
            throw KeychainError(
                .param, "\(given) is a symbolic link to \(target)",
                remedy: "delete the keychain by its own path, or the link with rm")
        }
        let path = absolutePath(name)
        // The names by which settings refer to the file; once it is gone, they can no longer be matched with it.
        let names = try file(of: .user).read()?.paths.filter {
            [path].contains(sameAs: directories.path(ofKeychain: $0))
        }
        do throws(KeychainError) {
            try LocalKeychain.open(path).delete()
        } catch {
            guard error.code == .noSuchKeychain, names?.isEmpty == false else { throw error }
        }
        try forget(names ?? [])
    }

    /// The keychains of the search list, locked, and those that cannot be opened.
    ///
    /// - Throws: `errSecDecode` for settings of the user that cannot be read; the system's are a gap of the outcome.
    func open() throws(KeychainError) -> Outcome<[LocalKeychain]> { try open(LocalKeychain.open) }

    func open(
        _ keychain: (_ path: String) throws(KeychainError) -> LocalKeychain
    ) throws(KeychainError) -> Outcome<[LocalKeychain]> {
        var opened = Outcome<[LocalKeychain]>()
        let own = try text(of: .user)
        var paths: [String]
        do throws(KeychainError) {
            paths = searchList(system: try text(of: .system), user: own)
        } catch {
            paths = searchList(own, in: .user)
            opened.missing.append(Missing(.unreadableKeychain, in: .file, of: directories.system, error))
        }
        for path in paths {
            do throws(KeychainError) {
                opened.found.append(try keychain(path))
            } catch {
                let kind: Missing.Kind = error.code == .noSuchKeychain ? .absentKeychain : .unreadableKeychain
                opened.missing.append(Missing(kind, in: .file, of: path, error))
            }
        }
        return opened
    }

    func enlist(_ path: String) throws(KeychainError) {
        try checkList(for: path)
        let system = try? text(of: .system)
        func isFixed(_ setting: PreferencesText.Setting) -> Bool { system?.choice(for: setting) == .fixed }
        try file(of: .user).change { text throws(KeychainError) in
            let list = searchList(text, in: .user)
            if !isFixed(.keychain), !list.contains(sameAs: path) {
                try text.set(.keychain, to: list.map(absolutePath) + [path])
            }
            if !isFixed(.defaultKeychain), defaultKeychain(text, in: .user) == nil {
                try text.set(.defaultKeychain, to: [path])
            }
        }
    }

    private func forget(_ names: [String]) throws(KeychainError) {
        guard !names.isEmpty else { return }
        try file(of: .user).change { text throws(KeychainError) in
            for setting in PreferencesText.Setting.allCases {
                guard let values = text[setting] else { continue }
                let kept = values.filter { !names.contains($0) }
                guard kept != values else { continue }
                try text.set(setting, to: setting == .keychain ? kept.map(absolutePath) : nil)
            }
        }
    }
}
