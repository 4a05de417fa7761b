internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

/// The differences between the commands of `security` for generic and those for internet passwords, beside the
/// attributes.
protocol PasswordCommandKind: PasswordKind, AttributeCommand {
    /// The part between `add-` and `-password`.
    static var adjective: String { get }

    /// The letters before the password itself.
    static var passwordLetters: NameSpecification { get }

    /// The attribute that the password is for: the service or the server.
    static var subject: Attribute { get }

    /// The noun for that attribute.
    static var subjectNoun: LocalizedText { get }

    /// A password to be added, with the defaults of attributes that were not given.
    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem
}

extension PasswordCommandKind {
    static var attributeCommand: AttributeOption.Command { .passwords }

    static func configuration(
        _ verb: String, _ abstract: LocalizedText, discussion: LocalizedText = ""
    ) -> CommandConfiguration {
        CommandConfiguration(
            commandName: "\(verb)-\(adjective)-password", abstract: String(localized: abstract),
            discussion: String(localized: discussion))
    }
}

extension GenericPasswords: PasswordCommandKind {
    static let adjective = "generic"
    /// `-p` is the older spelling. For an internet password it is the path.
    static let passwordLetters: NameSpecification = [.letter("w"), .letter("p")]
    static let subject = Attribute.service
    static let subjectNoun: LocalizedText = "service"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        try .genericPassword(attributes, secret: secret)
    }
}

extension InternetPasswords: PasswordCommandKind {
    static let adjective = "internet"
    static let passwordLetters = NameSpecification.letter("w")
    static let subject = Attribute.server
    static let subjectNoun: LocalizedText = "server"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        let standard: Attributes = [.authenticationType: InternetAuthentication(rawValue: "dflt").value]
        return try .internetPassword(standard.merging(attributes) { $1 }, secret: secret)
    }
}
