import Foundation
import SecItem
import TestSupport
import Testing

/// A separate home for the process of an exit test, with an unlocked login keychain and no cards.
final class Home {
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - modules: the other PKCS#11 modules that are searched.
    ///   - roots: certificates in PEM, which the system is to trust in place of its own; the file is `roots`.
    init(modules: String = "", roots: String? = nil) throws {
        folder = try TemporaryFolder()
        if let roots {
            try roots.write(toFile: folder.path("roots"), atomically: true, encoding: .utf8)
            setenv("SSL_CERT_FILE", folder.path("roots"), 1)
        }
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            setenv(name, folder.path, 1)
        }
        try PasswordCost.lower(in: folder.path)
        setenv("PCSCLITE_CSOCK_NAME", folder.path("none"), 1)
        setenv("TOKENKIT_MODULES", modules, 1)
        var keychain: SecKeychain?
        let status = SecKeychainCreate("login", 4, "open", false, nil, &keychain)
        guard status == errSecSuccess else { throw Failure(status: status) }
    }

    /// Keeps the home up to this call.
    func end() {}

    func path(_ name: String) -> String { folder.path(name) }

    /// Makes another keychain, unlocked.
    func keychain(_ name: String) throws -> SecKeychain {
        var keychain: SecKeychain?
        let status = SecKeychainCreate(path("\(name).keychain"), 4, "open", false, nil, &keychain)
        guard status == errSecSuccess else { throw Failure(status: status) }
        return try #require(keychain)
    }

    struct Failure: Error, Equatable {
        let status: OSStatus
    }
}

func add(_ attributes: [String: Any]) -> OSStatus { SecItemAdd(attributes as CFDictionary, nil) }

/// The result of a query. Throws its code if it fails.
func find(_ query: [String: Any]) throws -> AnyObject? {
    var result: CFTypeRef?
    let status = SecItemCopyMatching(query as CFDictionary, &result)
    guard status == errSecSuccess else { throw Home.Failure(status: status) }
    return result
}

func status(of query: [String: Any]) -> OSStatus {
    var result: CFTypeRef?
    return SecItemCopyMatching(query as CFDictionary, &result)
}
