internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A step of `card setup`.
enum SetupStep {
    /// - Parameter isAssumed: whether the card does not tell that it still has the factory's value, and is taken for one that has.
    case change(FactorySecret, isAssumed: Bool)
    case identify
    /// - Parameter avoiding: the usual kind, where that is weak on this card.
    case makeKey(String, KeyKind, KeyPolicies, avoiding: KeyKind?)
    case certify(String)
    case request(String, file: String)
    case setManagementKey(keychain: String?)

    var slot: String? {
        switch self {
        case .makeKey(let slot, _, _, _), .certify(let slot), .request(let slot, _): slot
        default: nil
        }
    }

    /// Whether the card wants its management key for it.
    var needsManagementKey: Bool {
        switch self {
        case .change, .request: false
        case .identify, .makeKey, .certify, .setManagementKey: true
        }
    }

    var wantsNewSecret: Bool {
        if case .change = self { true } else { false }
    }

    var requestFile: String? {
        if case .request(_, let file) = self { file } else { nil }
    }

    var wantsKeychain: Bool {
        if case .setManagementKey(.some) = self { true } else { false }
    }

    func sentence(_ name: String) -> LocalizedText {
        switch self {
        case .change(.pin, false): "Set a new PIN in place of the factory's."
        case .change(.unblockingKey, false): "Set a new PUK in place of the factory's."
        case .change(.pin, true): "Set a new PIN in place of the factory's, which the card is taken to have."
        case .change(.unblockingKey, true): "Set a new PUK in place of the factory's, which the card is taken to have."
        case .identify: "Write the card's identifier."
        case .makeKey(let slot, let kind, _, nil): "Make a key \(kind) in slot \(slot)."
        case .makeKey(let slot, let kind, _, let weak?):
            "Make a key \(kind) in slot \(slot), since \(weak) keys of this card are weak ('card info' says why)."
        case .certify(let slot): "Make a certificate for '\(name)' with the key in slot \(slot)."
        case .request(let slot, let file): "Write a request for a certificate with the key in slot \(slot) to \(file)."
        case .setManagementKey(nil): "Set a random management key, which the card gives to whoever has the PIN."
        case .setManagementKey(let keychain?):
            "Set a random management key, which is kept in the keychain '\(keychain)'."
        }
    }
}

/// The steps that make a card ready, and what is known of its secrets.
struct SetupPlan {
    /// The management key that a card has.
    enum ManagementKey {
        /// - Parameter isTold: whether the card tells it.
        case factory(isTold: Bool)
        /// The card takes no other one than the factory's.
        case unchangeable
        /// The card gives it to whoever has the PIN.
        case kept
        /// Its owner has it, or a program of theirs.
        case own
    }

    var steps: [SetupStep] = []
    var managementKey = ManagementKey.kept
    /// Whether the card may still have the factory's PIN and PUK, which it does not tell.
    var maySecretsBeFactory = false
    /// Whether requests were made, now or before.
    var hasRequests = false

    /// The sentences after the steps: about secrets that are needed, or not known.
    var remarks: [LocalizedText] {
        var remarks: [LocalizedText] = []
        if case .own = managementKey, steps.contains(where: \.needsManagementKey) {
            remarks.append(SetupPlan.ownManagementKey)
        }
        if maySecretsBeFactory { remarks.append(SetupPlan.untold) }
        return remarks
    }

    private static let ownManagementKey: LocalizedText =
        "The card's management key is needed, which is not the factory's."

    /// Whether an error says that the card has no other management key than the factory's.
    static func isUnchangeable(_ error: KeychainError) -> Bool {
        [.itemNotFound, .invalidAlgorithm].contains(error.code)
    }

    static let untold: LocalizedText =
        "This card does not tell whether PIN and PUK are still the factory's: if they are, run this with --factory-pin."
}
