/// A call of a PKCS #11 function: the values of its arguments, without pointers.
///
/// Values that may be secret are in the secrets of its message instead, in the order of the arguments: PINs, input data, and the
/// values of attributes that ``PKCS11Attribute/isSecret(_:)`` names.
package struct PKCS11Call: Equatable {
    package var function: PKCS11Function
    /// Handles, flags and sizes, in the order of the function's arguments. The length of the data is there also where only the
    /// output's length is asked for, and the data is not sent.
    package var numbers: [UInt64]
    package var mechanism: PKCS11Mechanism?
    /// Arrays of attributes.
    package var templates: [[PKCS11Attribute]]

    /// A value in place of a size: the argument is NULL.
    package static let null = UInt64.max

    /// A value behind the arguments of a function that takes data at once: the data is longer than a message, and follows in
    /// parts if the host confirms that it can be given in one call. Its length is among the arguments as always.
    package static let dataFollows = UInt64.max - 1

    /// Whether the call only asks if data that follows in parts can be given in one call.
    package var isBeforeData: Bool { numbers.count == 4 && numbers[3] == PKCS11Call.dataFollows }

    /// Adds the key and the mechanism of `C_SignInit` to a call of `C_Sign`, which then begins its signature itself.
    ///
    /// - Returns: false for any other call, and where the data follows in parts.
    package mutating func begin(with begun: PKCS11Call) -> Bool {
        guard function == .sign, numbers.count == 3, begun.numbers.count == 2 else { return false }
        numbers.append(begun.numbers[1])
        mechanism = begun.mechanism
        return true
    }

    /// Attributes that a template may have, and that one call may ask for.
    package static let maximumAttributes = 1 << 12

    package init(
        _ function: PKCS11Function, _ numbers: [UInt64] = [], _ mechanism: PKCS11Mechanism? = nil,
        _ templates: [[PKCS11Attribute]] = []
    ) {
        self.function = function
        self.numbers = numbers
        self.mechanism = mechanism
        self.templates = templates
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        guard let function = PKCS11Function(rawValue: try reader.number()) else { throw .malformed }
        self.function = function
        numbers = try reader.numbers()
        mechanism = try reader.flag() ? PKCS11Mechanism(from: &reader) : nil
        templates = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) {
            var template: [PKCS11Attribute] = []
            for _ in 0..<(try reader.count(ofElementsWith: PKCS11Attribute.minimumByteCount)) {
                template.append(try PKCS11Attribute(from: &reader))
            }
            templates.append(template)
        }
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(function.rawValue)
        writer.append(numbers)
        writer.append(mechanism != nil)
        mechanism?.write(to: &writer)
        writer.append(count: templates.count)
        for template in templates {
            writer.append(count: template.count)
            for attribute in template { attribute.write(to: &writer) }
        }
        return writer.bytes
    }
}

/// An attribute of a template: `CK_ATTRIBUTE`.
package struct PKCS11Attribute: Equatable {
    package var type: UInt64
    package var value: Value

    package enum Value: Equatable {
        case bytes([UInt8])
        /// The next `count` bytes of the message's secrets.
        case secret(count: UInt64)
    }

    package init(_ type: UInt64, _ value: Value) {
        self.type = type
        self.value = value
    }

    fileprivate static let minimumByteCount = 8 + 1 + 4

    init(from reader: inout FieldReader) throws(WireError) {
        type = try reader.number()
        let isSecret = try reader.flag()
        guard isSecret == Self.isSecret(type) else { throw .malformed }
        value = isSecret ? .secret(count: try reader.number()) : .bytes(try reader.byteString())
    }

    func write(to writer: inout FieldWriter) {
        writer.append(type)
        switch value {
        case .bytes(let bytes):
            writer.append(false)
            writer.append(bytes)
        case .secret(let count):
            writer.append(true)
            writer.append(count)
        }
    }

    /// Whether the value of an attribute may be a secret: `CKA_VALUE` of any object, and the numbers of private RSA keys,
    /// `CKA_PRIVATE_EXPONENT` to `CKA_COEFFICIENT`.
    package static func isSecret(_ type: UInt64) -> Bool { type == 0x11 || 0x123...0x128 ~= type }
}

/// A mechanism with its parameter, whose structure is flattened to the numbers and byte strings in it, in their order.
package struct PKCS11Mechanism: Equatable {
    package var type: UInt64
    package var parameter: Parameter

    package enum Parameter: Equatable {
        case none
        case structure(numbers: [UInt64], strings: [[UInt8]])
        /// A parameter that no token here uses, and that is therefore not sent.
        case withheld
    }

    package init(_ type: UInt64, _ parameter: Parameter = .none) {
        self.type = type
        self.parameter = parameter
    }

    init(from reader: inout FieldReader) throws(WireError) {
        type = try reader.number()
        guard try reader.flag() else {
            parameter = .none
            return
        }
        guard try reader.flag() else {
            parameter = .withheld
            return
        }
        let numbers = try reader.numbers()
        var strings: [[UInt8]] = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { strings.append(try reader.byteString()) }
        parameter = .structure(numbers: numbers, strings: strings)
    }

    func write(to writer: inout FieldWriter) {
        writer.append(type)
        switch parameter {
        case .none: writer.append(false)
        case .withheld:
            writer.append(true)
            writer.append(false)
        case .structure(let numbers, let strings):
            writer.append(true)
            writer.append(true)
            writer.append(numbers)
            writer.append(count: strings.count)
            for string in strings { writer.append(string) }
        }
    }
}
