/// The rule by which a number chooses one of a translation's forms: `nplurals=2; plural=n != 1;` in the header of a catalogue,
/// gettext(info) "Plural forms". The expression is one of C over `n`.
struct PluralForms: Sendable {
    private indirect enum Expression: Sendable {
        case number
        case constant(Int)
        case binary(Operator, Expression, Expression)
        case choice(Expression, Expression, Expression)
    }

    private enum Operator: String, CaseIterable {
        case or = "||"
        case and = "&&"
        case equal = "=="
        case unequal = "!="
        case atMost = "<="
        case atLeast = ">="
        case less = "<"
        case more = ">"
        case remainder = "%"

        /// The weakest operators first, as in C.
        static let levels: [[Operator]] = [
            [.or], [.and], [.equal, .unequal], [.atMost, .atLeast, .less, .more], [.remainder],
        ]

        func applied(_ left: Int, _ right: Int) -> Int {
            switch self {
            case .or: left != 0 || right != 0 ? 1 : 0
            case .and: left != 0 && right != 0 ? 1 : 0
            case .equal: left == right ? 1 : 0
            case .unequal: left != right ? 1 : 0
            case .atMost: left <= right ? 1 : 0
            case .atLeast: left >= right ? 1 : 0
            case .less: left < right ? 1 : 0
            case .more: left > right ? 1 : 0
            case .remainder: right > 0 ? left % right : 0
            }
        }
    }

    private static let maximumLength = 1000

    private let expression: Expression

    /// The rule of languages like English and German: one, and any other number.
    init() {
        expression = .binary(.unequal, .number, .constant(1))
    }

    /// - Parameter header: the header of a catalogue.
    /// - Returns: nil for a header without a rule that can be read.
    init?(header: String) {
        guard let line = header.split(separator: "\n").first(where: { $0.hasPrefix("Plural-Forms:") }),
            let rule = line.split(separator: ";").lazy.compactMap({ part in
                part.split(separator: "=", maxSplits: 1).first?.filter { $0 != " " } == "plural"
                    ? part.split(separator: "=", maxSplits: 1).last : nil
            }).first
        else { return nil }
        var parser = Parser(text: rule.filter { !$0.isWhitespace }[...])
        guard rule.utf8.count <= PluralForms.maximumLength, let expression = parser.choice(), parser.text.isEmpty else {
            return nil
        }
        self.expression = expression
    }

    /// The index of the form for a number.
    func index(of number: Int) -> Int { PluralForms.value(expression, Int(number.magnitude & UInt(Int.max))) }

    private static func value(_ expression: Expression, _ number: Int) -> Int {
        switch expression {
        case .number: number
        case .constant(let constant): constant
        case .binary(let symbol, let left, let right): symbol.applied(value(left, number), value(right, number))
        case .choice(let condition, let first, let second):
            value(condition, number) != 0 ? value(first, number) : value(second, number)
        }
    }

    private struct Parser {
        /// The deepest nesting, of which a hostile file could have any.
        private static let maximumDepth = 32

        var text: Substring
        private var depth = 0

        init(text: Substring) {
            self.text = text
        }

        mutating func choice() -> Expression? {
            guard depth < Parser.maximumDepth else { return nil }
            depth += 1
            defer { depth -= 1 }
            guard let condition = binary(0) else { return nil }
            guard take("?") else { return condition }
            guard let first = choice(), take(":"), let second = choice() else { return nil }
            return .choice(condition, first, second)
        }

        private mutating func binary(_ level: Int) -> Expression? {
            guard level < Operator.levels.count else { return operand() }
            guard var left = binary(level + 1) else { return nil }
            while let symbol = Operator.levels[level].first(where: { text.hasPrefix($0.rawValue) }) {
                text = text.dropFirst(symbol.rawValue.count)
                guard let right = binary(level + 1) else { return nil }
                left = .binary(symbol, left, right)
            }
            return left
        }

        private mutating func operand() -> Expression? {
            if take("n") { return .number }
            if take("(") {
                guard let inner = choice(), take(")") else { return nil }
                return inner
            }
            let digits = text.prefix { "0"..."9" ~= $0 }
            guard let constant = Int(digits) else { return nil }
            text = text[digits.endIndex...]
            return .constant(constant)
        }

        private mutating func take(_ symbol: String) -> Bool {
            guard text.hasPrefix(symbol) else { return false }
            text = text.dropFirst(symbol.count)
            return true
        }
    }
}
