internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

/// The options by which `security` names passwords of one class.
protocol PasswordOptions: ParsableArguments {
    static var itemClass: ItemClass { get }

    /// What stands between `add-` and `-password`.
    static var adjective: String { get }

    /// What stands before the password itself.
    static var passwordLetters: NameSpecification { get }

    var common: CommonPasswordOptions { get }

    /// The attributes of this class alone.
    var ownAttributes: [Attribute: AttributeValue?] { get }

    /// What the password is for: the service or the server.
    var subject: String? { get }

    /// What the subject is called.
    static var subjectNoun: String { get }

    /// A password to be added, with what is stored where nothing was given.
    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem
}

extension PasswordOptions {
    /// What was given.
    var attributes: Attributes {
        common.attributes.merging(ownAttributes.compactMapValues { $0 }) { $1 }
    }

    static func configuration(_ verb: String, _ abstract: String, discussion: String = "") -> CommandConfiguration {
        CommandConfiguration(
            commandName: "\(verb)-\(adjective)-password", abstract: abstract, discussion: discussion)
    }
}

/// What generic and internet passwords have in common.
struct CommonPasswordOptions: ParsableArguments {
    @Option(
        name: .letter("a"), parsing: .unconditional, help: ArgumentHelp("The account name.", valueName: "account"))
    var account: String?

    @Option(name: .letter("c"), help: ArgumentHelp("The creator, four characters.", valueName: "creator"))
    var creator: CharacterCode?

    @Option(name: .letter("C"), help: ArgumentHelp("The type, four characters.", valueName: "type"))
    var type: CharacterCode?

    @Option(
        name: .letter("D"), parsing: .unconditional, help: ArgumentHelp("The kind of password.", valueName: "kind")
    )
    var kind: String?

    @Option(name: .letter("j"), parsing: .unconditional, help: ArgumentHelp("The comment.", valueName: "comment"))
    var comment: String?

    @Option(name: .letter("l"), parsing: .unconditional, help: ArgumentHelp("The label.", valueName: "label"))
    var label: String?

    var attributes: Attributes {
        let values: [Attribute: AttributeValue?] = [
            .account: account.map { .string($0) }, .creator: creator.map { .number($0.number) },
            .type: type.map { .number($0.number) }, .itemDescription: kind.map { .string($0) },
            .comment: comment.map { .string($0) }, .label: label.map { .string($0) },
        ]
        return values.compactMapValues { $0 }
    }
}

struct GenericPasswordOptions: PasswordOptions {
    static let itemClass = ItemClass.genericPassword
    static let adjective = "generic"
    /// `-p` is the older spelling, which an internet password needs for its path.
    static let passwordLetters: NameSpecification = [.letter("w"), .letter("p")]

    @OptionGroup var common: CommonPasswordOptions

    @Option(
        name: .letter("s"), parsing: .unconditional, help: ArgumentHelp("The service name.", valueName: "service"))
    var service: String?

    @Option(
        name: .letter("G"), parsing: .unconditional,
        help: ArgumentHelp("The generic attribute.", valueName: "value"))
    var generic: String?

    var ownAttributes: [Attribute: AttributeValue?] {
        [.service: service.map { .string($0) }, .generic: generic.map { .data(Array($0.utf8)) }]
    }

    var subject: String? { service }
    static let subjectNoun = "service"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        try .genericPassword(attributes, secret: secret)
    }
}

/// Four characters that stand for a number, as in `OSType`; fewer are filled up with blanks.
struct CharacterCode: ExpressibleByArgument {
    let text: String

    init?(argument: String) {
        guard (1...4).contains(argument.utf8.count), argument.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        text = argument + String(repeating: " ", count: 4 - argument.utf8.count)
    }

    /// The characters' bytes, most significant first.
    var number: Int64 { text.utf8.reduce(0) { $0 << 8 | Int64($1) } }
}
