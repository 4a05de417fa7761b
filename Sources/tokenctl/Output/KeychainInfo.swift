internal import Localization
internal import Platform
internal import CryptokiNames
internal import HostAPI
internal import KeychainModel

/// The state of a keychain, for programs.
struct KeychainInfo: Encodable {
    /// The file, or the card's id.
    let keychain: String
    var isUnlocked: Bool
    let isReadOnly: Bool
    var locksOnSleep: Bool?
    var lockInterval: UInt32?
    var hasPassword: Bool?
    var passwordCost: PasswordCost?
    /// The cards that open it beside the password.
    var cards: [BindingRow]?
    var triesLeft: Int?

    init(_ details: KeychainDetails) {
        let description = details.keychain
        self.init(description, isUnlocked: description.status.contains(.unlocked))
        triesLeft = details.triesLeft
        (locksOnSleep, lockInterval) = (details.settings?.locksOnSleep, details.settings?.lockInterval)
        guard let unlocking = details.unlocking else { return }
        hasPassword = unlocking.hasPassword
        passwordCost = unlocking.passwordCost.map(PasswordCost.init)
        cards = unlocking.cards.map(BindingRow.init)
    }

    /// The state of a keychain alone.
    init(_ description: KeychainDescription, isUnlocked: Bool) {
        keychain = description.kind == .file ? description.location : description.identifier.rawValue
        self.isUnlocked = isUnlocked
        isReadOnly = !description.status.contains(.writable)
    }
}

/// The parameters of scrypt (RFC 7914 §2) for a keychain's password. They determine the cost of one guess.
struct PasswordCost: Encodable {
    let n: UInt64
    let r: UInt32
    let p: UInt32

    init(_ cost: ScryptCost) { (n, r, p) = (cost.n, cost.r, cost.p) }

    /// The cost for people. The memory is 128 bytes times N times r.
    var text: String {
        let (units, isTooMuch) = n.multipliedReportingOverflow(by: UInt64(r))
        let cost = "scrypt N=\(n) r=\(r) p=\(p)"
        return isTooMuch ? cost : String(localized: "\(cost), \(units >> 13) MiB of memory")
    }
}

/// A keychain of the search list.
struct KeychainRow: Row {
    static let columns: [LocalizedKey] = ["KEYCHAIN", "KIND", "STATE", "WHERE"]
    let name: String
    let kind: String
    /// One word; nil for a token, whose PIN's state costs a command to the card.
    var state: String?
    /// Nil for a file that cannot be opened.
    var isReadOnly: Bool?
    let location: String
    var uri: String?
    /// The module that shows the token; nil for cards and files.
    var module: String?
    /// The reason why the keychain cannot be searched.
    var reason: String?
    var cells: [String] {
        let states = [state, isReadOnly == true ? "read-only" : nil].compactMap { $0 }.map(Word.shown)
        return [
            name, Word.shown(kind) + (module.map { " (\($0))" } ?? ""), states.joined(separator: ", "),
            Directories.own.abbreviated(location),
        ]
    }
}

extension KeychainRow {
    init(_ keychain: KeychainDescription) {
        switch keychain.kind {
        case .card, .moduleToken:
            self.init(
                name: keychain.name, kind: keychain.kind == .card ? "card" : "token", isReadOnly: true,
                location: keychain.identifier.rawValue, uri: PKCS11URI(of: keychain).description,
                module: keychain.token?.module)
        case .file:
            self.init(
                name: keychain.name, kind: "file", state: keychain.status.contains(.unlocked) ? "unlocked" : "locked",
                isReadOnly: !keychain.status.contains(.writable), location: keychain.location,
                uri: PKCS11URI(of: keychain).description)
            guard let damage = keychain.damage else { return }
            // The URI of a damaged file may be another keychain's.
            (state, isReadOnly, reason, uri) = (KeychainRow.state(damage), nil, damage.description, nil)
        }
    }

    /// A file, whether or not it exists.
    init(at path: String, _ host: any KeychainService) {
        do throws(KeychainError) {
            self.init(try host.openKeychain(at: path, .silent).keychain)
        } catch {
            self.init(name: path, kind: "file", state: KeychainRow.state(error), location: path)
            reason = error.description
        }
    }

    private static func state(_ error: KeychainError) -> String {
        switch error.code {
        case .noSuchKeychain: "missing"
        case .invalidKeychain: "damaged"
        case .noAccessForItem: "unprotected"
        default: "unusable"
        }
    }
}
