import ArgumentParser
import Foundation
import KeychainHost
import KeychainModel
import Testing

@testable import tokenctl

/// Commands that take attributes by letters, compared with the table of attributes from which their options derive.
@Suite struct AttributeOptionTests {
    typealias Command = (
        command: any ParsableCommand.Type, rows: [AttributeDefinition], itemClass: ItemClass, ownLetters: [String]
    )

    /// The commands, each with its letters for other options.
    static let commands: [Command] = [
        password(AddGenericPassword.self, .genericPassword, ["w", "p", "X", "U", "A", "T"]),
        password(FindGenericPassword.self, .genericPassword, ["g", "w"]),
        password(DeleteGenericPassword.self, .genericPassword, []),
        password(AddInternetPassword.self, .internetPassword, ["w", "X", "U", "A", "T"]),
        password(FindInternetPassword.self, .internetPassword, ["g", "w"]),
        password(DeleteInternetPassword.self, .internetPassword, []),
        (FindKey.self, AttributeOption.Command.findKey.definitions(of: .key), .key, []),
        (
            CreateKeypair.self, AttributeOption.Command.createKeypair.definitions(of: .key), .key,
            ["d", "k", "A", "T"]
        ),
        (
            Import.self, AttributeOption.Command.importing.definitions(of: .key), .key,
            ["k", "t", "f", "w", "x", "P", "a", "A", "T"]
        ),
    ]

    private static func password(
        _ command: any ParsableCommand.Type, _ itemClass: ItemClass, _ ownLetters: [String]
    ) -> Command {
        (command, AttributeOption.Command.passwords.definitions(of: itemClass), itemClass, ownLetters)
    }

    @Test func `Every command that the table has letters for is among these`() {
        let rows = Set(Self.commands.flatMap(\.rows))
        #expect(AttributeDefinition.all.allSatisfy { $0.option == nil || rows.contains($0) })
    }

    @Test(arguments: commands.indices)
    func `A command has the options of the table and its own, and no others`(_ index: Int) throws {
        let (command, rows, _, ownLetters) = Self.commands[index]
        let letters = rows.compactMap { $0.option.map { String($0.letter) } }
        #expect(!letters.isEmpty)
        #expect(try options(of: command).map(\.letter).sorted() == (letters + ownLetters + ["h"]).sorted())
    }

    @Test(arguments: commands.indices)
    func `An option is called and described as in the table`(_ index: Int) throws {
        let (command, rows, itemClass, _) = Self.commands[index]
        let options = try options(of: command)
        for definition in rows {
            guard let option = definition.option else { continue }
            let shown = try #require(options.first { $0.letter == String(option.letter) }?.option)
            #expect(shown.kind == (option.form == .flag ? "flag" : "option"))
            #expect(option.form == .flag || shown.valueName == option.valueName)
            #expect(shown.shouldDisplay && shown.isOptional && !shown.isRepeating)
            let abstract = shown.abstract?.lowercased() ?? ""
            let lacks = definition.classes.contains(itemClass) ? "" : ", which a \(itemClass.noun) does not have"
            let (summary, values) = said(of: definition, option.form)
            #expect(abstract == (summary + lacks + "." + values).lowercased())
        }
    }

    private func said(
        of definition: AttributeDefinition, _ form: AttributeOption.Form
    ) -> (summary: String, values: String) {
        switch form {
        case .flag: ("that" + definition.summary.dropFirst("whether".count), "")
        case .name(let values):
            (
                String(definition.summary.split(separator: ":")[0]),
                " (values: \(values.map(\.name).joined(separator: ", ")))"
            )
        default: (definition.summary, "")
        }
    }

    @Test func `Options are in the order of their letters`() throws {
        #expect(try options(of: DeleteInternetPassword.self).map(\.letter).joined() == "acCdDjlpPrsth")
        #expect(try options(of: FindKey.self).map(\.letter).joined() == "acdDejlrstuvwh")
    }

    @Test func `What an option says becomes the attribute, in its type`() throws {
        try becomesAttributes(GenericPasswords.self)
        try becomesAttributes(InternetPasswords.self)
        try becomeAttributes(FindKey.self) { try FindKey.parse($0).item.attributes }
        try becomeAttributes(CreateKeypair.self) { try CreateKeypair.parse($0).key.attributes }
        try becomeAttributes(Import.self) { try Import.parse(["file"] + $0).key.attributes }
    }

    private func becomesAttributes<Kind: PasswordCommandKind>(_ kind: Kind.Type) throws {
        try becomeAttributes(kind) { try FindPassword<Kind>.parse($0).item.attributes }
        try becomeAttributes(kind) { try DeletePassword<Kind>.parse($0 + ["pkcs11:object=x"]).item.attributes }
        try becomeAttributes(kind) { words in
            let others = words.isEmpty || !words.contains { $0.hasPrefix("-s") } ? ["-s", "x"] : []
            var attributes = try AddPassword<Kind>.parse(others + words + ["-X", "41"]).item.attributes
            if !others.isEmpty { attributes[Kind.subject] = nil }
            return attributes
        }
    }

    private func becomeAttributes(
        _ command: any AttributeCommand.Type, _ parse: ([String]) throws -> Attributes
    ) throws {
        var (all, everything) = ([String](), Attributes())
        for definition in command.attributeCommand.definitions(of: command.itemClass) {
            guard let option = definition.option else { continue }
            let (arguments, value) = sample(option, definition.type)
            let letter = "-\(option.letter)"
            for words in [[letter] + arguments, [letter + arguments.joined()]] {
                #expect(try parse(words) == [definition.attribute: value])
            }
            #expect(value.converted(to: definition.type) == value)
            all += [letter] + arguments
            everything[definition.attribute] = value
        }
        #expect(try parse(all) == everything)
        #expect(try parse([]).isEmpty)
    }

    private func sample(
        _ option: AttributeOption, _ type: AttributeType
    ) -> (arguments: [String], value: AttributeValue) {
        // A value that begins with a dash is not taken for an option.
        let text = "-\(option.valueName) é"
        return switch option.form {
        case .text: ([text], type == .data ? .data(Array(text.utf8)) : .string(text))
        case .digits: (["0aFF"], .data([0x0A, 0xFF]))
        case .characters: (["-ab"], type == .number ? .number(0x2D61_6220) : .string("-ab "))
        case .number(let maximum): (["\(maximum)"], .number(maximum))
        case .name(let values): ([values[1].name], .number(values[1].value))
        case .date: (["2026-10-21-09:54:24"], .date(1_792_576_464))
        case .flag: ([], true)
        }
    }

    @Test func `What is no digits is what it says`() throws {
        #expect(try FindKey.parse(["-a", "xyz"]).item.attributes == [.applicationLabel: .data(Array("xyz".utf8))])
    }

    @Test func `A value that an option cannot have is refused with what it can`() {
        for (command, parse) in [
            (GenericPasswords.self as any AttributeCommand.Type, { _ = try FindGenericPassword.parse($0) }),
            (InternetPasswords.self, { _ = try FindInternetPassword.parse($0) }),
            (FindKey.self, { _ = try FindKey.parse($0) }), (CreateKeypair.self, { _ = try CreateKeypair.parse($0) }),
        ] as [(any AttributeCommand.Type, ([String]) throws -> Void)] {
            for option in command.attributeCommand.definitions(of: command.itemClass).compactMap(\.option) {
                for (argument, reason) in refused(option.form) {
                    let error = #expect(throws: (any Error).self) { try parse(["-\(option.letter)", argument]) }
                    let message = error.map { FindGenericPassword.message(for: $0) } ?? ""
                    #expect(message.contains("'-\(option.letter) <\(option.valueName)>'"), "\(message)")
                    #expect(message.contains(reason), "\(message)")
                }
            }
        }
    }

    private func refused(_ form: AttributeOption.Form) -> [(argument: String, reason: String)] {
        switch form {
        case .text, .digits, .flag: []
        case .characters: ["", "https", "é", "\u{7F}"].map { ($0, "one to four characters") }
        case .number(let maximum): ["", "-1", "x", "0x1", "\(maximum + 1)"].map { ($0, "from 0 to \(maximum)") }
        case .name(let values): ["", "none", "Public"].map { ($0, values.map(\.name).joined(separator: ", ")) }
        case .date: ["", "2026", "2026-13-01", "2026-02-30"].map { ($0, "as 2026-10-21") }
        }
    }

    private struct Shown: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let kind: String
        let names: [Name]?
        let valueName: String?
        let abstract: String?
        let shouldDisplay: Bool
        let isOptional: Bool
        let isRepeating: Bool
    }

    private struct Help: Decodable {
        struct Command: Decodable { let arguments: [Shown] }
        let command: Command
    }

    /// The options of a command that have letters, from the parser.
    private func options(of command: any ParsableCommand.Type) throws -> [(letter: String, option: Shown)] {
        let help = try JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
        return help.command.arguments.flatMap { option in
            (option.names ?? []).filter { $0.kind == "short" }.map { ($0.name, option) }
        }
    }
}
