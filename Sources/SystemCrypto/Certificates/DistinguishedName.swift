internal import COpenSSL
internal import SecureBytes

/// The name of a certificate's subject or issuer, X.501.
public struct DistinguishedName: Sendable, Hashable, CustomStringConvertible {
    /// The DER of the `Name`.
    public let der: [UInt8]
    /// The name as text, most specific part first (RFC 4514), control characters escaped.
    public let description: String
    /// The values of the most specific common name, control characters escaped.
    public let commonName: String?
    /// The value of the most specific description attribute, control characters escaped.
    public let descriptionAttribute: String?
    /// The values of the emailAddress attribute, control characters escaped.
    public let emailAddresses: [String]

    /// - Throws: `malformed` for anything but the DER of one `Name`.
    public init(der: [UInt8]) throws(CryptoError) {
        let name = try DistinguishedName.read(der)
        self.der = der
        description = (try? DistinguishedName.text(of: name)) ?? DistinguishedName.hexadecimal(der)
        commonName = DistinguishedName.values(NID_commonName, of: name).last
        descriptionAttribute = DistinguishedName.values(NID_description, of: name).last
        emailAddresses = DistinguishedName.values(NID_pkcs9_emailAddress, of: name)
    }

    /// A name with only a common name.
    public init(commonName: String) throws(CryptoError) {
        let attribute = DER.sequence([DER.objectIdentifier("2.5.4.3"), DER.utf8String(commonName)])
        try self.init(der: DER.sequence([DER.element(DER.Tag.set, attribute)]))
    }

    /// The most specific common name, without the other fields; nil for none.
    ///
    /// - Throws: `malformed` for anything but the DER of one `Name`.
    static func commonName(in der: [UInt8]) throws(CryptoError) -> String? {
        values(NID_commonName, of: try read(der)).last
    }

    /// Wraps `d2i_X509_NAME`.
    private static func read(_ der: [UInt8]) throws(CryptoError) -> Handle {
        try unsafe Handle("name", parsing: der.span, release: X509_NAME_free) { unsafe d2i_X509_NAME(nil, $0, $1) }
    }

    /// Whether the name has no parts.
    public var isEmpty: Bool { der.count <= 2 }

    public static func == (left: DistinguishedName, right: DistinguishedName) -> Bool {
        left.der == right.der
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(der)
    }

    /// A value that is not text, RFC 4514 §2.4.
    static func hexadecimal(_ bytes: [UInt8]) -> String { "#" + Hex.encode(bytes) }

    /// Wraps `X509_NAME_print_ex`.
    private static func text(of name: borrowing Handle) throws(CryptoError) -> String {
        // RFC 2253 without escapes of characters outside ASCII.
        let flags =
            ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | ASN1_STRFLGS_DUMP_UNKNOWN
            | ASN1_STRFLGS_DUMP_DER | XN_FLAG_SEP_COMMA_PLUS | XN_FLAG_DN_REV | XN_FLAG_FN_SN
            | XN_FLAG_DUMP_UNKNOWN_FIELDS
        let output = try unsafe Handle("name", release: release) { context in
            unsafe BIO_new_ex(context, BIO_s_mem())
        }
        let name = unsafe name.pointer
        let length = try unsafe OpenSSL.call("name") { _ in
            let length = unsafe X509_NAME_print_ex(output.pointer, name, 0, UInt(flags))
            return length >= 0 ? Int(length) : nil
        }
        let bytes = try unsafe [UInt8](capacity: length, "name") { _, start, count in
            unsafe count == 0 || BIO_read(output.pointer, start, Int32(count)) == Int32(count)
        }
        return DisplayText.escaped(String(decoding: bytes, as: UTF8.self))
    }

    /// The attributes in their order, each with its type and its value as text, control characters escaped.
    public var attributes: [(type: OID, value: String)] {
        guard let name = try? DistinguishedName.read(der) else { return [] }
        return DistinguishedName.attributes(of: name)
    }

    private static func attributes(of name: borrowing Handle) -> [(type: OID, value: String)] {
        let name = unsafe name.pointer
        var attributes: [(type: OID, value: String)] = []
        for position in 0..<max(unsafe X509_NAME_entry_count(name), 0) {
            let entry = unsafe X509_NAME_get_entry(name, position)
            let object = unsafe X509_NAME_ENTRY_get_object(entry)
            guard let start = unsafe OBJ_get0_data(object), let value = unsafe value(of: entry) else { continue }
            let content = unsafe UnsafeBufferPointer(start: start, count: OBJ_length(object))
            attributes.append((OID(content: unsafe Array(content)), value))
        }
        return attributes
    }

    private static let release: Handle.Release = { unsafe BIO_free_all($0) }

    private static func values(_ identifier: Int32, of name: borrowing Handle) -> [String] {
        let name = unsafe name.pointer
        var values: [String] = []
        var position: Int32 = -1
        while true {
            position = unsafe X509_NAME_get_index_by_NID(name, identifier, position)
            guard position >= 0 else { return values }
            if let value = unsafe value(of: X509_NAME_get_entry(name, position)) { values.append(value) }
        }
    }

    /// The value of an attribute; nil where it is not text.
    private static func value(of entry: OpaquePointer?) -> String? {
        var text: UnsafeMutablePointer<UInt8>?
        let length = unsafe ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry))
        guard length >= 0, let start = unsafe text else { return nil }
        defer { unsafe CRYPTO_free(text, nil, 0) }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(length))
        return unsafe DisplayText.escaped(String(decoding: bytes, as: UTF8.self))
    }
}
