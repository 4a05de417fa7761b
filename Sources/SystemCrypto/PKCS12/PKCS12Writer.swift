internal import COpenSSL
internal import SecureBytes

/// Fills the bags of a PKCS#12 file, RFC 7292 §4.
@safe
struct PKCS12Writer: ~Copyable {
    private let certificates: Handle
    private let keys: Handle
    private let password: UnsafePointer<CChar>
    private let iterations: Int32

    /// - Parameter password: ends with a zero, and must outlive the writer.
    init(password: UnsafePointer<CChar>, iterations: Int32) throws(CryptoError) {
        let certificates = try PKCS12Writer.makeBags()
        let keys = try PKCS12Writer.makeBags()
        self.certificates = certificates
        self.keys = keys
        unsafe self.password = password
        self.iterations = max(iterations, 1)
    }

    private static func makeBags() throws(CryptoError) -> Handle {
        try unsafe Handle("PKCS#12", release: PKCS12Reader.freeBags) { _ in unsafe OPENSSL_sk_new_null() }
    }

    /// - Parameters:
    ///   - name: the friendly name.
    ///   - id: the id of the certificate's key, where the key is in the file too.
    func add(_ certificate: Certificate, name: String? = nil, id: [UInt8]? = nil) throws(CryptoError) {
        var bags: OpaquePointer? = unsafe certificates.pointer
        let bag = unsafe PKCS12_add_cert(&bags, certificate.handle.pointer)
        try unsafe PKCS12Writer.label(bag, name, id)
    }

    func add(_ key: PrivateKey, name: String?, id: [UInt8]) throws(CryptoError) {
        let encoded = try key.pkcs8()
        let information = try Handle(privateKeyInfo: encoded.bytes)
        let (bags, info) = unsafe (keys.pointer, information.pointer)
        let bag = try unsafe OpenSSL.call("PKCS#12 key") { context -> OpaquePointer? in
            let bag = unsafe PKCS12_SAFEBAG_create_pkcs8_encrypt_ex(
                NID_aes_256_cbc, password, -1, nil, 0, iterations, info, context, nil)
            guard let bag = unsafe bag, unsafe OPENSSL_sk_push(bags, UnsafeRawPointer(bag)) > 0 else {
                unsafe PKCS12_SAFEBAG_free(bag)
                return nil
            }
            return unsafe bag
        }
        try unsafe PKCS12Writer.label(bag, name, id)
    }

    private static func label(_ bag: OpaquePointer?, _ name: String?, _ id: [UInt8]?) throws(CryptoError) {
        try unsafe OpenSSL.check("PKCS#12") { _ in
            guard let bag = unsafe bag else { return 0 }
            if let name, unsafe PKCS12_add_friendlyname_utf8(bag, name, -1) != 1 { return 0 }
            guard var id else { return 1 }
            return unsafe PKCS12_add_localkeyid(bag, &id, Int32(truncatingIfNeeded: id.count))
        }
    }

    /// The file: certificates encrypted together, each key separately, and a MAC over both.
    func finish() throws(CryptoError) -> [UInt8] {
        let safes = try unsafe Handle("PKCS#12", release: PKCS12Reader.freeSafes) { context in
            var safes = unsafe OPENSSL_sk_new_null()
            let isWhole =
                unsafe PKCS12_add_safe_ex(
                    &safes, certificates.pointer, NID_aes_256_cbc, iterations, password, context, nil) == 1
                && PKCS12_add_safe_ex(&safes, keys.pointer, -1, 0, nil, context, nil) == 1
            guard !isWhole else { return unsafe safes }
            unsafe PKCS12Reader.freeSafes(safes)
            return nil
        }
        let file = try unsafe Handle("PKCS#12", release: PKCS12_free) { context in
            unsafe PKCS12_add_safes_ex(safes.pointer, 0, context, nil)
        }
        try unsafe OpenSSL.check("PKCS#12") { _ in
            unsafe PKCS12_set_mac(file.pointer, password, -1, nil, 0, iterations, nil)
        }
        return try unsafe [UInt8](encoding: "PKCS#12") { unsafe i2d_PKCS12(file.pointer, $0) }
    }
}
