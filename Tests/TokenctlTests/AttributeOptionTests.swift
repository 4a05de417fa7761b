import ArgumentParser
import Foundation
import KeychainHost
import Testing

@testable import tokenctl

/// The commands for passwords beside the table of attributes, which their options derive from.
@Suite struct AttributeOptionTests {
    /// The commands of a class, each with the letters it has for other things than attributes.
    static let commands: [(command: any ParsableCommand.Type, itemClass: ItemClass, ownLetters: [String])] = [
        (AddGenericPassword.self, .genericPassword, ["w", "p", "X", "U", "A", "T"]),
        (FindGenericPassword.self, .genericPassword, ["g", "w"]),
        (DeleteGenericPassword.self, .genericPassword, []),
        (AddInternetPassword.self, .internetPassword, ["w", "X", "U", "A", "T"]),
        (FindInternetPassword.self, .internetPassword, ["g", "w"]),
        (DeleteInternetPassword.self, .internetPassword, []),
    ]

    @Test(arguments: commands.indices)
    func `A command has the options of the table and its own, and no others`(_ index: Int) throws {
        let (command, itemClass, ownLetters) = Self.commands[index]
        let letters = itemClass.definitions.compactMap { $0.option.map { String($0.letter) } }
        #expect(letters.count > 7)
        #expect(try options(of: command).map(\.letter).sorted() == (letters + ownLetters + ["h"]).sorted())
    }

    @Test(arguments: commands.indices)
    func `An option is called and described as in the table`(_ index: Int) throws {
        let (command, itemClass, _) = Self.commands[index]
        let options = try options(of: command)
        for definition in itemClass.definitions {
            guard let option = definition.option else { continue }
            let shown = try #require(options.first { $0.letter == String(option.letter) }?.option)
            #expect(shown.valueName == option.valueName)
            #expect(shown.abstract?.lowercased() == definition.summary.lowercased() + ".")
            #expect(shown.kind == "option" && shown.shouldDisplay && shown.isOptional && !shown.isRepeating)
        }
    }

    @Test func `Options are in the order of their letters`() throws {
        #expect(try options(of: DeleteInternetPassword.self).map(\.letter).joined() == "acCdDjlpPrsth")
    }

    @Test func `What an option says becomes the attribute, in its type`() throws {
        try becomesAttributes(GenericPasswords.self)
        try becomesAttributes(InternetPasswords.self)
    }

    private func becomesAttributes<Kind: PasswordCommandKind>(_ kind: Kind.Type) throws {
        var (all, everything) = ([String](), Attributes())
        for definition in Kind.itemClass.definitions {
            guard let option = definition.option else { continue }
            let (argument, value) = sample(option, definition.type)
            let letter = "-\(option.letter)"
            for words in [[letter, argument], [letter + argument]] {
                #expect(try FindPassword<Kind>.parse(words).item.attributes == [definition.attribute: value])
                #expect(try DeletePassword<Kind>.parse(words).item.attributes == [definition.attribute: value])
            }
            #expect(value.converted(to: definition.type) == value)
            all += [letter, argument]
            everything[definition.attribute] = value
        }
        #expect(try AddPassword<Kind>.parse(all + ["-X", "41"]).item.attributes == everything)
        #expect(try FindPassword<Kind>.parse([]).item.attributes.isEmpty)
    }

    private func sample(_ option: AttributeOption, _ type: AttributeType) -> (argument: String, value: AttributeValue) {
        // A dash at the beginning makes no option of it.
        let text = "-\(option.valueName) é"
        return switch option.form {
        case .text: (text, type == .data ? .data(Array(text.utf8)) : .string(text))
        case .characters: ("-ab", type == .number ? .number(0x2D61_6220) : .string("-ab "))
        case .number(let maximum): ("\(maximum)", .number(maximum))
        }
    }

    @Test func `A value that an option cannot have is refused with what it can`() {
        for (itemClass, parse) in [
            (ItemClass.genericPassword, { (words: [String]) in _ = try FindGenericPassword.parse(words) }),
            (.internetPassword, { (words: [String]) in _ = try FindInternetPassword.parse(words) }),
        ] {
            for option in itemClass.definitions.compactMap(\.option) {
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
        case .text: []
        case .characters: ["", "https", "é", "\u{7F}"].map { ($0, "one to four characters") }
        case .number(let maximum): ["", "-1", "x", "0x1", "\(maximum + 1)"].map { ($0, "from 0 to \(maximum)") }
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

    /// What the parser says of a command's options that have letters.
    private func options(of command: any ParsableCommand.Type) throws -> [(letter: String, option: Shown)] {
        let help = try JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
        return help.command.arguments.flatMap { option in
            (option.names ?? []).filter { $0.kind == "short" }.map { ($0.name, option) }
        }
    }
}
