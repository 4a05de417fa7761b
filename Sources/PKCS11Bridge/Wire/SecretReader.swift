internal import CCryptoki
internal import SecureBytes
internal import Wire

/// Reads the secrets of a call's message one after the other.
struct SecretReader: ~Copyable {
    private let secrets: Secret
    private var position = 0

    init(_ secrets: consuming Secret) {
        self.secrets = secrets
    }

    private var remaining: Int { secrets.count - position }

    /// - Throws: `CKR_GENERAL_ERROR` where there are fewer bytes.
    mutating func secret(_ count: UInt64) throws(CryptokiError) -> Secret {
        let length = try take(count)
        return Secret(copying: secrets.bytes.extracting(position - length..<position))
    }

    /// A secret whose argument may be NULL.
    mutating func optionalSecret(_ count: UInt64) throws(CryptokiError) -> Secret? {
        count == PKCS11Call.null ? nil : try secret(count)
    }

    /// All that is left, as a secret.
    mutating func rest() throws(CryptokiError) -> Secret { try secret(UInt64(remaining)) }

    /// Input that need not be kept as a secret.
    mutating func bytes(_ count: UInt64) throws(CryptokiError) -> [UInt8] {
        let length = try take(count)
        let bytes = secrets.bytes.extracting(position - length..<position)
        return unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            for index in bytes.indices { unsafe buffer.initializeElement(at: index, to: bytes[index]) }
            count = length
        }
    }

    mutating func restAsBytes() throws(CryptokiError) -> [UInt8] { try bytes(UInt64(remaining)) }

    /// An array of attributes.
    mutating func template(_ attributes: [PKCS11Attribute]) throws(CryptokiError) -> Template {
        guard attributes.count <= PKCS11Call.maximumAttributes else { throw SecretReader.malformed }
        var template = Template()
        for attribute in attributes {
            let type = CK_ATTRIBUTE_TYPE(attribute.type)
            switch attribute.value {
            case .bytes(let bytes): template.append(type, bytes.span)
            case .secret(let count):
                let value = try secret(count)
                template.append(type, value.bytes)
            }
        }
        return template
    }

    /// - Throws: `CKR_GENERAL_ERROR` where something is left.
    func finish() throws(CryptokiError) {
        guard remaining == 0 else { throw SecretReader.malformed }
    }

    private mutating func take(_ count: UInt64) throws(CryptokiError) -> Int {
        guard let length = Int(exactly: count), length <= remaining else { throw SecretReader.malformed }
        position += length
        return length
    }

    static let malformed = CryptokiError(CKR_GENERAL_ERROR, "the call is not as its function takes it")
}
