internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

/// The attributes of passwords as options: each that the table of attributes has a letter for, in the order of the letters.
///
/// The parser learns a type's options from its mirror, and their values from its decoder; so they need not be properties.
struct AttributeOptions<Kind: PasswordKind>: ParsableArguments {
    /// What was given.
    private(set) var attributes: Attributes = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        for (definition, _) in Self.all {
            let option = try values.decode(Option<AttributeValue?>.self, forKey: Key(definition.attribute))
            attributes[definition.attribute] = option.wrappedValue
        }
    }

    private static var all: [(definition: AttributeDefinition, option: AttributeOption)] {
        Kind.itemClass.definitions.compactMap { definition in definition.option.map { (definition, $0) } }
            .sorted { Self.place(of: $0.option.letter) < Self.place(of: $1.option.letter) }
    }

    /// As in manual pages: the small letter, then its capital.
    private static func place(of letter: Character) -> String { letter.lowercased() + (letter.isLowercase ? "a" : "b") }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ attribute: Attribute) { stringValue = attribute.rawValue }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension AttributeOptions: CustomReflectable {
    var customMirror: Mirror {
        Mirror(
            self,
            children: Self.all.map { definition, option in
                let summary = definition.summary.prefix(1).uppercased() + definition.summary.dropFirst() + "."
                return (
                    label: definition.attribute.rawValue,
                    value: Option<AttributeValue?>(
                        name: .letter(option.letter), parsing: .unconditional,
                        help: ArgumentHelp("\(summary)", valueName: option.valueName)
                    ) { try option.form.value(of: $0, definition.type) }
                )
            })
    }
}

extension AttributeOption.Form {
    /// What an argument says.
    fileprivate func value(of argument: String, _ type: AttributeType) throws -> AttributeValue {
        switch self {
        case .text:
            return type == .data ? .data(Array(argument.utf8)) : .string(argument)
        case .characters:
            guard let code = CharacterCode(argument: argument) else {
                throw CommandError("it has to be one to four characters of ASCII")
            }
            return type == .number ? .number(code.number) : .string(code.text)
        case .number(let maximum):
            guard let number = Int64(argument), (0...maximum).contains(number) else {
                throw CommandError("it has to be a number from 0 to \(maximum)")
            }
            return .number(number)
        }
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
