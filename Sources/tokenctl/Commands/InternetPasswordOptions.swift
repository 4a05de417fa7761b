internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

struct InternetPasswordOptions: PasswordOptions {
    static let itemClass = ItemClass.internetPassword
    static let adjective = "internet"
    static let passwordLetters = NameSpecification.letter("w")

    @OptionGroup var common: CommonPasswordOptions

    @Option(
        name: .letter("s"), parsing: .unconditional, help: ArgumentHelp("The server name.", valueName: "server"))
    var server: String?

    @Option(
        name: .letter("d"), parsing: .unconditional,
        help: ArgumentHelp("The security domain.", valueName: "domain"))
    var securityDomain: String?

    @Option(
        name: .letter("p"), parsing: .unconditional,
        help: ArgumentHelp("The path on the server.", valueName: "path"))
    var path: String?

    @Option(name: .letter("P"), parsing: .unconditional, help: ArgumentHelp("The port.", valueName: "port"))
    var port: UInt16?

    @Option(
        name: .letter("r"), help: ArgumentHelp("The protocol, four characters as 'htps'.", valueName: "protocol"))
    var `protocol`: CharacterCode?

    @Option(
        name: .letter("t"),
        help: ArgumentHelp("How one logs in, four characters as 'form'.", valueName: "authentication-type"))
    var authenticationType: CharacterCode?

    var ownAttributes: [Attribute: AttributeValue?] {
        [
            .server: server.map { .string($0) }, .securityDomain: securityDomain.map { .string($0) },
            .path: path.map { .string($0) }, .port: port.map { .number(Int64($0)) },
            .protocol: `protocol`.map { .string($0.text) },
            .authenticationType: authenticationType.map { .string($0.text) },
        ]
    }

    var subject: String? { server }
    static let subjectNoun = "server"

    static func newItem(_ attributes: Attributes, secret: consuming Secret) throws(KeychainError) -> NewItem {
        let standard: Attributes = [.authenticationType: InternetAuthentication(rawValue: "dflt").value]
        return try .internetPassword(standard.merging(attributes) { $1 }, secret: secret)
    }
}
