internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

/// A command whose attributes are options, by the letters of the table of attributes.
protocol AttributeCommand {
    static var itemClass: ItemClass { get }
    static var attributeCommand: AttributeOption.Command { get }
}

/// The attributes that have a letter in the table, as options in the order of their letters.
///
/// The parser learns a type's options from its mirror, and their values from its decoder; so they need not be properties.
struct AttributeOptions<Command: AttributeCommand>: ParsableArguments {
    /// The attributes that were given.
    private(set) var attributes: Attributes = [:]

    init() {}

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        for (definition, option) in Self.all {
            let key = Key(definition.attribute)
            if option.form == .flag {
                guard try values.decode(Flag<Bool>.self, forKey: key).wrappedValue else { continue }
                attributes[definition.attribute] = true
            } else {
                let option = try values.decode(Option<AttributeValue?>.self, forKey: key)
                attributes[definition.attribute] = option.wrappedValue
            }
        }
    }

    private static var all: [(definition: AttributeDefinition, option: AttributeOption)] {
        Command.attributeCommand.definitions(of: Command.itemClass)
            .compactMap { definition in definition.option.map { (definition, $0) } }
            .sorted { Self.place(of: $0.option.letter) < Self.place(of: $1.option.letter) }
    }

    /// The order of manual pages: the small letter, then its capital.
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
                (label: definition.attribute.rawValue, value: Self.parsed(definition, option))
            })
    }

    private static func parsed(_ definition: AttributeDefinition, _ option: AttributeOption) -> Any {
        let name = NameSpecification.letter(option.letter)
        let help = ArgumentHelp(summary(of: definition, option.form), valueName: option.valueName)
        guard option.form != .flag else { return Flag(wrappedValue: false, name: name, help: help) }
        return Option<AttributeValue?>(
            name: name, parsing: .unconditional, help: help, completion: option.form.completion
        ) { try option.form.value(of: $0, definition.type) }
    }

    /// The help of an option.
    private static func summary(of definition: AttributeDefinition, _ form: AttributeOption.Form) -> String {
        var (text, values) = (String(localized: LocalizedText(key: definition.summary)), "")
        switch form {
        case .name(let named):
            text = String(text.prefix { $0 != ":" })
            values = " " + String(localized: "(values: \(named.map(\.name).joined(separator: ", ")))")
        case .flag where Language.current.isEnglish: text = "that " + text.trimmingPrefix("whether ")
        case .flag, .text, .digits, .characters, .number, .date: break
        }
        if !definition.classes.contains(Command.itemClass) {
            text = String(localized: "\(text), which a \(Command.itemClass.noun) does not have")
        }
        return text.prefix(1).uppercased() + text.dropFirst() + "." + values
    }
}

extension AttributeOption.Form {
    /// The value of an argument.
    ///
    /// - Throws: an error that says what values are accepted, for an invalid argument.
    fileprivate func value(of argument: String, _ type: AttributeType) throws -> AttributeValue {
        switch self {
        case .text:
            return type == .data ? .data(Array(argument.utf8)) : .string(argument)
        case .digits: return .data(Hex.decode(argument.trimmingPrefix("0x")) ?? Array(argument.utf8))
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
        case .name(let values):
            guard let value = values.first(where: { $0.name == argument }) else {
                throw CommandError("it has to be one of \(values.map(\.name).joined(separator: ", "))")
            }
            return .number(value.value)
        case .date:
            guard let date = DateArgument(argument: argument) else {
                throw CommandError("it has to be a date, as 2026-10-21 or 2026-10-21-09:54:24")
            }
            return .date(date.seconds)
        case .flag: return true
        }
    }

    fileprivate var completion: CompletionKind? {
        if case .name(let values) = self { .list(values.map(\.name)) } else { nil }
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
    var number: Int64 { Int64(bigEndianBytes: text.utf8) }
}
