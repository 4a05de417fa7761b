/// How the commands of `security` for passwords take an attribute; security(1).
///
/// An attribute that they take by different letters has a row of the table for each.
public struct AttributeOption: Sendable, Hashable {
    /// How a value is written.
    public enum Form: Sendable, Hashable {
        /// As it is.
        case text
        /// As one to four characters; a number is the one that their bytes spell, as `OSType` is in C.
        case characters
        /// As a whole number from 0 to this one.
        case number(upTo: Int64)
    }

    public let letter: Character
    /// What the value is called in a help text.
    public let valueName: String
    public let form: Form

    init(_ letter: Character, _ valueName: String, as form: Form = .text) {
        self.letter = letter
        self.valueName = valueName
        self.form = form
    }
}
