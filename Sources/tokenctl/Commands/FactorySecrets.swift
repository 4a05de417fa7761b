internal import HostAPI
internal import KeychainModel
internal import Localization

/// The secrets of a card that are still those which it was delivered with, and which everybody knows.
struct FactorySecrets: OptionSet {
    let rawValue: UInt8

    static let pin = FactorySecrets(rawValue: 1)
    static let unblockingKey = FactorySecrets(rawValue: 2)
    static let managementKey = FactorySecrets(rawValue: 4)

    /// Each secret by the name that people use, with the command that changes it.
    private static let all: [(secret: FactorySecrets, name: String, command: String)] = [
        (.pin, "PIN", "card pin change"), (.unblockingKey, "PUK", "card pin change --puk"),
        (.managementKey, "management key", "card set-management-key"),
    ]

    private var known: [(secret: FactorySecrets, name: String, command: String)] {
        FactorySecrets.all.filter { contains($0.secret) }
    }

    var names: [String] { known.map(\.name) }

    /// The danger, and the remedy; nil where there is none.
    var warning: String? {
        guard !isEmpty else { return nil }
        let commands = known.map { "'tokenctl \($0.command)'" }.joined(separator: ", ")
        let secrets = LocalizedText.list(names.map(Word.shown))
        return String(
            localized:
                "everybody knows the factory's \(secrets), which this card still has (change with \(commands))")
    }
}

extension KeychainService {
    /// The factory's secrets that a card still has, as far as it tells. Spends no try.
    func factorySecrets(of card: KeychainIdentifier) -> FactorySecrets {
        guard let overview = try? self.card(card, telling: [.pin, .unblockingKey], .silent) else { return [] }
        return factorySecrets(overview, try? managementKey(of: card, .silent))
    }

    /// - Parameters:
    ///   - overview: with the state of PIN and unblocking key.
    ///   - key: the facts of the management key.
    func factorySecrets(_ overview: CardOverview, _ key: CardManagementKeyStatus?) -> FactorySecrets {
        var secrets: FactorySecrets = []
        if (try? overview.pin?.get())?.isDefault == true { secrets.insert(.pin) }
        if (try? overview.unblockingKey?.get())?.isDefault == true { secrets.insert(.unblockingKey) }
        if key?.isDefault == true { secrets.insert(.managementKey) }
        return secrets
    }
}
