import Glibc
import TestSupport
import Testing

@testable import KeychainModel

/// `Documentation/attributes.md` is made from the table of attributes, and these tests keep it up to date.
@Suite struct AttributeReferenceTests {
    private static let file = "Documentation/attributes.md"

    @Test func thePageSaysWhatTheTableSays() throws {
        if unsafe getenv("TOKENKIT_WRITE_REFERENCE") != nil { try Repository.write(Self.page, to: Self.file) }
        #expect(try Repository.text(Self.file) == Self.page, "run make reference")
    }

    private static var page: String {
        let rows = AttributeDefinition.all.map { row in
            cells([
                "`\(row.attribute)`", "`kSecAttr\(row.name)`", row.type.rawValue,
                row.classes.map(\.rawValue).joined(separator: " "), options(row),
                row.isUnique ? "★" : "", notes(row.uses), row.summary,
            ])
        }
        return """
            # Attributes

            The attributes of keychain items. ★ marks what makes an item unique in its keychain, together with the others of
            its class; what is absent counts there as empty or 0. An identity has what its certificate and its key have.
            Strings and data pass for each other and come back as the kind they were given. Dates are seconds since 1970, UTC.
            A code is four characters, or none; those that have a name are below. A number of four characters is the one that
            their bytes spell. The option is the letter by which the commands for passwords, and those that are named, take it, as macOS's `security`
            does.

            | code | constant | type | classes | option | ★ | not for | what it says |
            |---|---|---|---|---|---|---|---|
            \(rows.joined(separator: "\n"))

            Classes: `genp` generic password, `inet` internet password, `cert` certificate, `keys` key, `idnt` identity.

            ## Values of `ptcl`

            \(vocabulary(InternetProtocol.named.map { ($0.name, $0.value.rawValue) }, "kSecAttrProtocol"))

            ## Values of `atyp`

            \(vocabulary(InternetAuthentication.named.map { ($0.name, $0.value.rawValue) }, "kSecAttrAuthenticationType"))

            """
    }

    private static func options(_ row: AttributeDefinition) -> String {
        let commands = AttributeOption.Command.allCases.filter { row.option?.commands.contains($0) == true }
        return commands.map { command in
            "`\(command == .passwords ? "" : command.rawValue + " ")-\(row.option?.letter ?? "?")`"
        }.joined(separator: ", ")
    }

    private static func notes(_ uses: AttributeDefinition.Uses) -> String {
        let names: [(AttributeDefinition.Uses, String)] = [(.add, "add"), (.find, "find"), (.change, "change")]
        return names.filter { !uses.contains($0.0) }.map(\.1).joined(separator: " ")
    }

    private static func vocabulary(_ values: [(name: String, code: String)], _ prefix: String) -> String {
        let rows = values.map { cells(["`\"\($0.code)\"`", "`\(prefix)\($0.name)`"]) }
        return "| value | constant |\n|---|---|\n" + rows.joined(separator: "\n")
    }

    private static func cells(_ texts: [String]) -> String { "| " + texts.joined(separator: " | ") + " |" }
}
