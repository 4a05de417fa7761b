internal import CCryptoki
internal import PKCS11Bridge
internal import TokenKit

// From C's pointers to values and back. What a program says of lengths is believed only as far as it can be.

let argumentsBad = CryptokiError(CKR_ARGUMENTS_BAD)

/// The most bytes that one argument may have.
private let longestInput = 1 << 30

/// - Throws: `CKR_ARGUMENTS_BAD` for a null pointer to something, or a length that nothing has.
func bytes(_ start: UnsafePointer<UInt8>?, _ count: CK_ULONG) throws(CryptokiError) -> [UInt8] {
    guard count > 0 else { return [] }
    guard let start = unsafe start, count <= CK_ULONG(longestInput) else { throw argumentsBad }
    return unsafe Array(UnsafeBufferPointer(start: start, count: Int(count)))
}

func bytes(_ start: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG) throws(CryptokiError) -> [UInt8] {
    try unsafe bytes(UnsafePointer(start), count)
}

/// A PIN or plaintext; nil for a null pointer.
func secret(_ start: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG) throws(CryptokiError) -> Secret? {
    guard let start = unsafe start else {
        guard count == 0 else { throw argumentsBad }
        return nil
    }
    guard count <= CK_ULONG(longestInput) else { throw argumentsBad }
    return unsafe Secret(copying: Span(_unsafeStart: UnsafePointer(start), count: Int(count)))
}

func required<Pointee>(
    _ pointer: UnsafeMutablePointer<Pointee>?
) throws(CryptokiError) -> UnsafeMutablePointer<Pointee> {
    guard let pointer = unsafe pointer else { throw argumentsBad }
    return unsafe pointer
}

// MARK: - What is given back

func room(
    _ buffer: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<CK_ULONG>?
) throws(CryptokiError) -> Room {
    let length = try unsafe required(length)
    return unsafe buffer == nil ? .query : .bytes(Int(clamping: length.pointee))
}

/// Fills a program's buffer. PKCS #11 §5.2.
///
/// - Throws: `CKR_BUFFER_TOO_SMALL`, with the length that is needed in `length`.
func give(
    _ output: consuming Output, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<CK_ULONG>?
) throws(CryptokiError) {
    let length = try unsafe required(length)
    switch consume output {
    case .length(let needed):
        unsafe length.pointee = CK_ULONG(needed)
        if unsafe buffer != nil { throw CryptokiError(CKR_BUFFER_TOO_SMALL, "\(needed) bytes are needed") }
    case .bytes(let bytes):
        let buffer = try unsafe place(for: bytes.count, buffer, length)
        unsafe buffer.update(from: bytes, count: bytes.count)
    case .secret(let secret):
        let bytes = secret.bytes
        let buffer = try unsafe place(for: bytes.count, buffer, length)
        for index in bytes.indices { unsafe buffer[index] = bytes[index] }
    }
}

/// Where so many bytes fit, whatever the length was believed to be when the room was looked at; `length` is theirs then.
private func place(
    for count: Int, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: UnsafeMutablePointer<CK_ULONG>
) throws(CryptokiError) -> UnsafeMutablePointer<UInt8> {
    guard let buffer = unsafe buffer else { throw argumentsBad }
    guard unsafe CK_ULONG(count) <= length.pointee else {
        throw CryptokiError(CKR_DEVICE_ERROR, "the token gave \(count) bytes, more than there is room for")
    }
    unsafe length.pointee = CK_ULONG(count)
    return unsafe buffer
}

/// Fills an array of numbers. PKCS #11 §5.2.
func give(
    _ numbers: [CK_ULONG], _ buffer: UnsafeMutablePointer<CK_ULONG>?, _ count: UnsafeMutablePointer<CK_ULONG>?
) throws(CryptokiError) {
    let count = try unsafe required(count)
    let room = unsafe count.pointee
    unsafe count.pointee = CK_ULONG(numbers.count)
    guard let buffer = unsafe buffer else { return }
    guard room >= CK_ULONG(numbers.count) else { throw CryptokiError(CKR_BUFFER_TOO_SMALL) }
    unsafe buffer.update(from: numbers, count: numbers.count)
}

/// Fills a field of a structure with text, cut between characters, and with blanks behind it. PKCS #11 §3.1.
func fill<Field>(_ field: inout Field, with text: String) {
    unsafe withUnsafeMutableBytes(of: &field) { field in
        let bytes = Array(CryptokiText.cut(text, to: field.count).utf8)
        for index in field.indices {
            unsafe field[index] = index < bytes.count ? bytes[index] : UInt8(ascii: " ")
        }
    }
}

// MARK: - Structures

/// A copy of an attribute array.
///
/// - Throws: `CKR_ARGUMENTS_BAD`, `CKR_ATTRIBUTE_VALUE_INVALID` for a length without a value.
func template(_ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG) throws(CryptokiError) -> Template {
    guard count > 0 else { return Template() }
    guard let attributes = unsafe attributes, count <= 1 << 16 else { throw argumentsBad }
    var template = Template()
    for index in 0..<Int(count) {
        let attribute = unsafe attributes[index]
        let (length, start) = unsafe (attribute.ulValueLen, attribute.pValue)
        guard length <= 1 << 24, unsafe length == 0 || start != nil else {
            throw unsafe CryptokiError(
                CKR_ATTRIBUTE_VALUE_INVALID, "attribute 0x\(String(attribute.type, radix: 16))")
        }
        let value = unsafe UnsafeRawBufferPointer(start: start, count: Int(length)).bindMemory(to: UInt8.self)
        unsafe template.append(attribute.type, value.span)
    }
    return template
}

/// A mechanism, and what its parameter points to.
///
/// - Throws: `CKR_ARGUMENTS_BAD`, `CKR_MECHANISM_PARAM_INVALID` for a parameter of another size than the mechanism's.
func request(_ mechanism: UnsafeMutablePointer<CK_MECHANISM>?) throws(CryptokiError) -> MechanismRequest {
    let mechanism = try unsafe required(mechanism).pointee
    let (type, start, count) = unsafe (mechanism.mechanism, mechanism.pParameter, mechanism.ulParameterLen)
    guard count > 0 else { return MechanismRequest(type) }
    guard let start = unsafe start, count <= 1 << 20 else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
    switch type {
    case CKM_RSA_PKCS_PSS, CKM_SHA1_RSA_PKCS_PSS, CKM_SHA224_RSA_PKCS_PSS, CKM_SHA256_RSA_PKCS_PSS,
        CKM_SHA384_RSA_PKCS_PSS, CKM_SHA512_RSA_PKCS_PSS:
        let pss = try unsafe structure(CK_RSA_PKCS_PSS_PARAMS.self, start, count)
        return MechanismRequest(type, .pss(hash: pss.hashAlg, mgf: pss.mgf, saltLength: pss.sLen))
    case CKM_RSA_PKCS_OAEP:
        let oaep = try unsafe structure(CK_RSA_PKCS_OAEP_PARAMS.self, start, count)
        let label = try unsafe parameterBytes(oaep.pSourceData, oaep.ulSourceDataLen)
        // 0 is what some programs say where there is none.
        guard unsafe oaep.source == CKZ_DATA_SPECIFIED || oaep.source == 0 && label.isEmpty else {
            throw CryptokiError(CKR_MECHANISM_PARAM_INVALID, "an unknown source of the label")
        }
        return MechanismRequest(type, unsafe .oaep(hash: oaep.hashAlg, mgf: oaep.mgf, label: label))
    case CKM_ECDH1_DERIVE, CKM_ECDH1_COFACTOR_DERIVE:
        let agreement = try unsafe structure(CK_ECDH1_DERIVE_PARAMS.self, start, count)
        let sharedInfo = try unsafe parameterBytes(agreement.pSharedData, agreement.ulSharedDataLen)
        let publicData = try unsafe parameterBytes(agreement.pPublicData, agreement.ulPublicDataLen)
        return MechanismRequest(
            type, unsafe .agreement(kdf: agreement.kdf, sharedInfo: sharedInfo, publicData: publicData))
    default:
        return MechanismRequest(type, .bytes(unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))))
    }
}

private func structure<Structure>(
    _ type: Structure.Type, _ start: UnsafeMutableRawPointer, _ count: CK_ULONG
) throws(CryptokiError) -> Structure {
    guard Int(count) == MemoryLayout<Structure>.size else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
    // A program may have put it anywhere.
    return unsafe withUnsafeTemporaryAllocation(of: Structure.self, capacity: 1) { copy in
        unsafe UnsafeMutableRawBufferPointer(copy).copyMemory(
            from: UnsafeRawBufferPointer(start: start, count: Int(count)))
        return unsafe copy[0]
    }
}

private func parameterBytes(_ start: UnsafeMutableRawPointer?, _ count: CK_ULONG) throws(CryptokiError) -> [UInt8] {
    guard count > 0 else { return [] }
    guard unsafe start != nil, count <= 1 << 20 else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
    return unsafe Array(UnsafeRawBufferPointer(start: start, count: Int(count)))
}

private func parameterBytes(_ start: UnsafeMutablePointer<UInt8>?, _ count: CK_ULONG) throws(CryptokiError) -> [UInt8] {
    try unsafe parameterBytes(UnsafeMutableRawPointer(start), count)
}
