/// The form in which commands of `security` take an attribute; security(1).
///
/// An attribute that they take by different letters has a row of the table for each.
public struct AttributeOption: Sendable, Hashable {
    /// The groups of commands that take attributes by letters.
    public enum Command: String, Sendable, Hashable, CaseIterable {
        /// The commands that add, find and delete passwords, of either class.
        case passwords
        case findKey = "find-key"
        case createKeypair = "create-keypair"
        /// Its `-l` for the label is not an option of `security import`, which takes the label as one of its name-value pairs.
        case importing = "import"
    }

    /// A value that has a name.
    public struct NamedValue: Sendable, Hashable {
        public let name: String
        public let value: Int64
    }

    /// The written form of a value.
    public enum Form: Sendable, Hashable {
        /// The text itself.
        case text
        /// Hexadecimal digits, optionally after `0x`; any other text stands for itself.
        case digits
        /// One to four characters. For a number, their bytes are its value in big-endian order, as in C's `OSType`.
        case characters
        /// A whole number from 0 to this one.
        case number(upTo: Int64)
        /// One of these names. The help shows the summary up to its colon.
        case name([NamedValue])
        /// A day, optionally with a time, in UTC.
        case date
        /// No value: the letter alone means true.
        case flag
    }

    public let letter: Character
    /// The name of the value in a help text; empty for an option without a value.
    public let valueName: String
    public let form: Form
    /// The groups of commands that have the letter.
    public let commands: Set<Command>

    init(
        _ letter: Character, _ valueName: String, as form: Form = .text, for commands: Set<Command> = [.passwords]
    ) {
        self.letter = letter
        self.valueName = valueName
        self.form = form
        self.commands = commands
    }

    /// A letter that says that a key can do something.
    static func ability(_ letter: Character) -> AttributeOption {
        AttributeOption(letter, "", as: .flag, for: [.findKey])
    }
}

extension AttributeOption.Form {
    /// The halves of a pair, and symmetric keys.
    static let keyClasses = AttributeOption.Form.name([
        .init(name: "symmetric", value: KeyClass.symmetric.rawValue),
        .init(name: "public", value: KeyClass.public.rawValue),
        .init(name: "private", value: KeyClass.private.rawValue),
    ])

    /// The kinds of keys that are made.
    static let keyTypes = AttributeOption.Form.name([
        .init(name: "rsa", value: KeyType.rsa.rawValue), .init(name: "ec", value: KeyType.ecPrime.rawValue),
        .init(name: "ed25519", value: KeyType.ed25519.rawValue), .init(name: "x25519", value: KeyType.x25519.rawValue),
        .init(name: "aes", value: KeyType.aes.rawValue), .init(name: "hmac", value: KeyType.hmac.rawValue),
    ])
}

extension AttributeOption.Form {
    /// The name of a number; nil for a number without one.
    public func name(of number: Int64?) -> String? {
        guard case .name(let values) = self else { return nil }
        return values.first { $0.value == number }?.name
    }
}

extension AttributeOption.Command {
    /// The rows of the table that a command has a letter for.
    ///
    /// - Parameter itemClass: the class of passwords. Commands for keys ignore it: as in `security`, they also have
    ///   letters for attributes that keys lack.
    public func definitions(of itemClass: ItemClass) -> [AttributeDefinition] {
        AttributeDefinition.all.filter { definition in
            guard definition.option?.commands.contains(self) == true else { return false }
            return self != .passwords || definition.classes.contains(itemClass)
        }
    }
}
