internal import COpenSSL
public import SecureBytes

/// Textual encoding of DER, RFC 7468.
public enum PEM {
    /// DER as text between BEGIN and END lines.
    public static func encode(_ der: [UInt8], label: String) -> String {
        String(decoding: Array(copying: encode(der.span, label: label).bytes), as: UTF8.self)
    }

    /// Secret DER as text between BEGIN and END lines.
    public static func encode(_ der: borrowing Secret, label: String) -> Secret {
        encode(der.bytes, label: label)
    }

    /// Bytes in a line: 64 digits. RFC 7468 §2.
    private static let lineLength = 48

    private static func encode(_ der: Span<UInt8>, label: String) -> Secret {
        let (begin, end) = ("-----BEGIN \(label)-----\n".utf8, "-----END \(label)-----\n".utf8)
        let lineCount = (der.count + lineLength - 1) / lineLength
        return Secret(capacity: begin.count + Base64.digitCount(of: der.count) + lineCount + end.count) { output in
            output.append(Array(begin))
            for start in stride(from: 0, to: der.count, by: lineLength) {
                Base64.append(der.extracting(start..<min(start + lineLength, der.count)), to: &output)
                output.append(UInt8(ascii: "\n"))
            }
            output.append(Array(end))
        }
    }

    /// The DER of every block of this label in a text. Text between blocks is ignored.
    ///
    /// - Throws: `malformed` for a block that is not Base64 or does not end.
    public static func blocks(labelled label: String, in text: [UInt8]) throws(CryptoError) -> [[UInt8]] {
        let reader = try PEMReader(text.span)
        var found: [[UInt8]] = []
        while let block = try reader.next() {
            guard block.label == label else { continue }
            let bytes = block.der.bytes
            found.append(Array(copying: bytes))
        }
        return found
    }

    /// Whether a file looks like PEM rather than DER.
    public static func isPEM(_ bytes: Span<UInt8>) -> Bool {
        let marker = Array("-----BEGIN ".utf8)
        guard bytes.count >= marker.count else { return false }
        return (0...bytes.count - marker.count).contains { start in
            marker.indices.allSatisfy { bytes[start + $0] == marker[$0] }
        }
    }
}

/// One block of a PEM text.
public struct PEMBlock: ~Copyable {
    /// The label behind BEGIN, such as `CERTIFICATE`.
    public let label: String
    /// The encoded bytes.
    public let der: Secret
    /// The lines before the Base64, which only the encryption of RFC 1421 has.
    private let header: String

    fileprivate init(label: String, der: consuming Secret, header: String) {
        (self.label, self.header) = (label, header)
        self.der = der
    }

    /// Whether the block is encrypted as a whole by RFC 1421, which shows only in its header.
    public var isEncrypted: Bool { !header.isEmpty }

    /// Whether the block holds a private key, in any format.
    public var isPrivateKey: Bool { label.hasSuffix("PRIVATE KEY") }

    /// Checks that a password can decrypt the block's RFC 1421 encryption, before a person is asked for one.
    ///
    /// - Throws: `unsupported` for a cipher that OpenSSL does not have, `malformed` for a header that names none.
    func checkEncryption() throws(CryptoError) { _ = try unsafe cipher() }

    /// Wraps `PEM_get_EVP_CIPHER_INFO`.
    private func cipher() throws(CryptoError) -> EVP_CIPHER_INFO {
        var cipher = unsafe EVP_CIPHER_INFO()
        var header = Array(header.utf8CString)
        var isUnknown = false
        do {
            try unsafe OpenSSL.check("encrypted PEM", failing: .malformed) { _ in
                let status = unsafe PEM_get_EVP_CIPHER_INFO(&header, &cipher)
                isUnknown = ERR_peek_last_error() & 0xFFF == UInt(PEM_R_UNSUPPORTED_ENCRYPTION)
                return status
            }
        } catch {
            throw isUnknown ? CryptoError(.unsupported, error.operation, reason: error.reason) : error
        }
        return unsafe cipher
    }

    /// The encoded bytes without the encryption of RFC 1421. Wraps `PEM_do_header`.
    ///
    /// - Throws: `wrongPassword`, and the errors of ``checkEncryption()``.
    func decrypted(password: borrowing Secret) throws(CryptoError) -> Secret {
        var cipher = try unsafe cipher()
        let text = password.bytes
        guard text.count < PEM_BUFSIZE, text.indices.allSatisfy({ text[$0] != 0 }) else {
            throw CryptoError(.wrongPassword, "encrypted PEM")
        }
        let terminated = Secret(capacity: text.count + 1) { output in
            output.append(text)
            output.append(0)
        }
        return try unsafe Secret(capacity: der.count, "encrypted PEM", failing: .wrongPassword) { _, output, count in
            let encrypted = der.bytes
            for index in encrypted.indices { unsafe output[index] = encrypted[index] }
            return unsafe terminated.bytes.withPointer { password, _ in
                unsafe PEM_do_header(&cipher, output, &count, nil, UnsafeMutableRawPointer(mutating: password)) == 1
            }
        }
    }
}

/// Reads the blocks of a PEM text one after the other, and ignores text between them. Wraps `PEM_read_bio_ex`.
public struct PEMReader: ~Copyable {
    private let bio: Handle

    public init(_ text: Span<UInt8>) throws(CryptoError) {
        // The BIO's memory is wiped when it is freed, since the text may hold a private key.
        let bio = try unsafe Handle("PEM", release: PEMReader.release) { context in
            unsafe BIO_new_ex(context, BIO_s_secmem())
        }
        try unsafe text.withPointer { start, count throws(CryptoError) in
            var written = 0
            try unsafe OpenSSL.check("PEM") { _ in
                unsafe count == 0 ? 1 : BIO_write_ex(bio.pointer, start, count, &written)
            }
        }
        self.bio = bio
    }

    /// The next block, nil after the last.
    ///
    /// - Throws: `malformed` for a block that is not Base64 or does not end.
    public func next() throws(CryptoError) -> PEMBlock? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var length = 0
        var isAtEnd = false
        try unsafe OpenSSL.check("PEM", failing: .malformed) { _ in
            let status = unsafe PEM_read_bio_ex(bio.pointer, &name, &header, &data, &length, 0)
            isAtEnd = status != 1 && ERR_peek_last_error() & 0xFFF == UInt(PEM_R_NO_START_LINE)
            return isAtEnd ? 1 : status
        }
        defer {
            unsafe CRYPTO_free(name, nil, 0)
            unsafe CRYPTO_free(header, nil, 0)
            unsafe CRYPTO_clear_free(data, length, nil, 0)
        }
        guard !isAtEnd, let label = unsafe name, let start = unsafe data else { return nil }
        let bytes = unsafe UnsafeBufferPointer(start: start, count: length)
        return unsafe PEMBlock(
            label: String(cString: label), der: Secret(copying: bytes.span),
            header: header.map { unsafe String(cString: $0) } ?? "")
    }

    private static let release: Handle.Release = { unsafe BIO_free_all($0) }
}
