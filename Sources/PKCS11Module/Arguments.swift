internal import CCryptoki
internal import CThinClient

// From C's structures to what a message holds.

/// The attributes of a template, and the secrets among their values.
///
/// - Throws: `CKR_ARGUMENTS_BAD`, `CKR_ATTRIBUTE_VALUE_INVALID` for a length without a value, `CKR_HOST_MEMORY` for values that no
///   message can hold, before they are copied.
func template(
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG, _ secrets: inout Secrets
) throws(Failure) -> [PKCS11Attribute] {
    guard count > 0 else { return [] }
    guard let attributes = unsafe attributes, count <= CK_ULONG(PKCS11Call.maximumAttributes) else {
        throw argumentsBad
    }
    var template: [PKCS11Attribute] = []
    var room = FrameHeader.maximumFields
    for index in 0..<Int(count) {
        let attribute = unsafe attributes[index]
        let (type, length, start) = unsafe (UInt64(attribute.type), attribute.ulValueLen, attribute.pValue)
        guard length <= 1 << 24, unsafe length == 0 || start != nil else { throw Failure(CKR_ATTRIBUTE_VALUE_INVALID) }
        if PKCS11Attribute.isSecret(type) {
            try unsafe secrets.append(start?.assumingMemoryBound(to: UInt8.self), length)
            template.append(PKCS11Attribute(type, .secret(count: UInt64(length))))
        } else {
            room -= Int(length)
            guard room >= 0 else { throw Failure(CKR_HOST_MEMORY, "the arguments are longer than the host takes") }
            template.append(PKCS11Attribute(type, .bytes(unsafe copy(start, Int(length)))))
        }
    }
    return template
}

private func copy(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8] {
    guard let start = unsafe start, count > 0 else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
}

/// A mechanism, and the bytes that its parameter points to.
///
/// - Throws: `CKR_ARGUMENTS_BAD`, `CKR_MECHANISM_PARAM_INVALID` for a parameter of another size than the mechanism's, or of an
///   unknown mechanism, since the parameter may hold pointers.
func mechanism(_ mechanism: UnsafeMutablePointer<CK_MECHANISM>?) throws(Failure) -> PKCS11Mechanism {
    let mechanism = try unsafe required(mechanism).pointee
    let (type, start, count) = unsafe (UInt64(mechanism.mechanism), mechanism.pParameter, mechanism.ulParameterLen)
    guard count > 0 else { return PKCS11Mechanism(type) }
    guard let start = unsafe start, count <= 1 << 20 else { throw Failure(CKR_MECHANISM_PARAM_INVALID) }
    let parameter = unsafe UnsafeRawBufferPointer(start: start, count: Int(count))
    switch ParameterLayout(of: unsafe mechanism.mechanism) {
    case .unknown: throw Failure(CKR_MECHANISM_PARAM_INVALID, "a parameter of a mechanism that is not known here")
    case .withheld: return PKCS11Mechanism(type, .withheld)
    case .bytes: return PKCS11Mechanism(type, .structure(numbers: [], strings: [unsafe [UInt8](parameter)]))
    case .structure(let layout): return PKCS11Mechanism(type, try unsafe flattened(parameter, layout))
    }
}

/// Reads the fields of a mechanism's parameter, and follows its pointers only where the parameter's length is that of the layout.
///
/// - Throws: `CKR_MECHANISM_PARAM_INVALID`.
private func flattened(
    _ parameter: UnsafeRawBufferPointer, _ layout: StaticString
) throws(Failure) -> PKCS11Mechanism.Parameter {
    guard parameter.count == ParameterLayout.byteCount(of: layout) else { throw Failure(CKR_MECHANISM_PARAM_INVALID) }
    var numbers: [UInt64] = []
    var strings: [[UInt8]] = []
    var offset = 0
    /// The program's structure may lie at any address, so that its fields are read unaligned.
    func word(at offset: Int) -> UInt64 {
        unsafe UInt64(parameter.loadUnaligned(fromByteOffset: offset, as: UInt.self))
    }
    func string(at address: UInt64, _ count: UInt64) throws(Failure) -> [UInt8] {
        guard count > 0 else { return [] }
        guard count <= 1 << 20, let start = unsafe UnsafeRawPointer(bitPattern: UInt(address)) else {
            throw Failure(CKR_MECHANISM_PARAM_INVALID)
        }
        return unsafe copy(start, Int(count))
    }
    for index in 0..<layout.utf8CodeUnitCount {
        let letter = unsafe layout.utf8Start[index]
        let end = ParameterLayout.end(of: letter, at: offset)
        switch letter {
        case UInt8(ascii: "n"): numbers.append(word(at: offset))
        case UInt8(ascii: "p"): strings.append(try string(at: word(at: offset), word(at: offset + 8)))
        case UInt8(ascii: "q"): strings.append(try string(at: word(at: offset + 8), word(at: offset)))
        case UInt8(ascii: "b"): numbers.append(UInt64(unsafe parameter[offset]))
        case UInt8(ascii: "v"), UInt8(ascii: "w"): strings.append(unsafe [UInt8](parameter[offset..<end]))
        default: break
        }
        offset = end
    }
    return .structure(numbers: numbers, strings: strings)
}
