internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import SecureBytes

/// What the commands of `security` for generic passwords and those for internet passwords differ in, beside the attributes.
protocol PasswordCommandKind: PasswordKind, AttributeCommand {
    /// What stands between `add-` and `-password`.
    static var adjective: String { get }

    /// What stands before the password itself.
    static var passwordLetters: NameSpecification { get }

    /// What the password is for: the service or the server.
    static var subject: Attribute { get }

    /// What the subject is called.
    static var subjectNoun: String { get }

    /// A password to be added, with what is stored where nothing was given.
    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem
}

extension PasswordCommandKind {
    static var attributeCommand: AttributeOption.Command { .passwords }

    static func configuration(_ verb: String, _ abstract: String, discussion: String = "") -> CommandConfiguration {
        CommandConfiguration(
            commandName: "\(verb)-\(adjective)-password", abstract: abstract, discussion: discussion)
    }
}

extension GenericPasswords: PasswordCommandKind {
    static let adjective = "generic"
    /// `-p` is the older spelling, which an internet password needs for its path.
    static let passwordLetters: NameSpecification = [.letter("w"), .letter("p")]
    static let subject = Attribute.service
    static let subjectNoun = "service"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        try .genericPassword(attributes, secret: secret)
    }
}

extension InternetPasswords: PasswordCommandKind {
    static let adjective = "internet"
    static let passwordLetters = NameSpecification.letter("w")
    static let subject = Attribute.server
    static let subjectNoun = "server"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        let standard: Attributes = [.authenticationType: InternetAuthentication(rawValue: "dflt").value]
        return try .internetPassword(standard.merging(attributes) { $1 }, secret: secret)
    }
}
