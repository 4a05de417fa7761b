internal import COpenSSL
internal import SecureBytes

/// The content of a PKCS#12 file's bags, RFC 7292 §4.
@safe
struct PKCS12Reader: ~Copyable {
    private(set) var keys: [PrivateKey] = []
    private(set) var certificates: [Certificate] = []
    private var names = Names()
    private let password: UnsafePointer<CChar>?
    private let length: Int32
    /// The error of a part that does not decrypt.
    private let refusal: CryptoError.Code

    /// Names of keys and of certificates, by the hash of the key.
    private struct Names {
        var ofKeys: [[UInt8]: String] = [:]
        var ofCertificates: [[UInt8]: String] = [:]
    }

    /// The content of a file, with or without a password.
    ///
    /// Writers encode "no password" in two ways: as no bytes, or as the two zero bytes that end an empty text.
    static func read(_ file: borrowing Handle, password: borrowing Secret?) throws(CryptoError) -> PKCS12 {
        switch password {
        case .some(let password) where !password.isEmpty:
            return try unsafe password.bytes.withPointer { start, count throws(CryptoError) in
                let password = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
                return try unsafe read(file, password, count, .wrongPassword)
            }
        default:
            do {
                return try unsafe read(file, nil, 0, .passwordRequired)
            } catch  where error.code == .passwordRequired {
                return try unsafe read(file, "", 0, .passwordRequired)
            }
        }
    }

    private static func read(
        _ file: borrowing Handle, _ password: UnsafePointer<CChar>?, _ count: Int, _ refusal: CryptoError.Code
    ) throws(CryptoError) -> PKCS12 {
        guard let length = Int32(exactly: count) else { throw CryptoError(.invalidLength, "password") }
        let pointer = unsafe file.pointer
        try unsafe OpenSSL.check("PKCS#12", failing: refusal) { _ in
            unsafe PKCS12_mac_present(pointer) == 0 ? 1 : PKCS12_verify_mac(pointer, password, length)
        }
        var reader = unsafe PKCS12Reader(password: password, length: length, refusal: refusal)
        try reader.readSafes(of: file)
        let names = reader.names.ofKeys.merging(reader.names.ofCertificates) { ofKey, _ in ofKey }
        return PKCS12(keys: reader.keys, certificates: reader.certificates, friendlyNames: names)
    }

    private init(password: UnsafePointer<CChar>?, length: Int32, refusal: CryptoError.Code) {
        unsafe self.password = password
        self.length = length
        self.refusal = refusal
    }

    private mutating func readSafes(of file: borrowing Handle) throws(CryptoError) {
        let pointer = unsafe file.pointer
        let safes = try unsafe Handle("PKCS#12", failing: .malformed, release: PKCS12Reader.freeSafes) { _ in
            unsafe PKCS12_unpack_authsafes(pointer)
        }
        for index in unsafe PKCS12Reader.indices(of: safes.pointer) {
            guard let element = unsafe OPENSSL_sk_value(safes.pointer, index) else { continue }
            let safe = unsafe element.assumingMemoryBound(to: PKCS7.self)
            let type = unsafe OBJ_obj2nid(safe.pointee.type)
            let isEncrypted = type == NID_pkcs7_encrypted
            // The third kind is encrypted for a public key.
            guard isEncrypted || type == NID_pkcs7_data else { throw CryptoError(.unsupported, "PKCS#12") }
            let code = isEncrypted ? refusal : .malformed
            let bags = try unsafe Handle("PKCS#12", failing: code, release: PKCS12Reader.freeBags) { _ in
                unsafe isEncrypted
                    ? PKCS12_unpack_p7encdata(safe, password, length) : PKCS12_unpack_p7data(safe)
            }
            try unsafe readBags(bags.pointer, depth: 0)
        }
    }

    private mutating func readBags(_ bags: OpaquePointer, depth: Int) throws(CryptoError) {
        // RFC 7292 §4.2.6 allows nested bags without a limit.
        guard depth < 4 else { throw CryptoError(.malformed, "PKCS#12 nesting") }
        for index in unsafe PKCS12Reader.indices(of: bags) {
            guard let bag = unsafe OPENSSL_sk_value(bags, index).map(OpaquePointer.init) else { continue }
            switch unsafe PKCS12_SAFEBAG_get_nid(bag) {
            case NID_keyBag: try unsafe readKey(bag)
            case NID_pkcs8ShroudedKeyBag: try unsafe readEncryptedKey(bag)
            case NID_certBag: try unsafe readCertificate(bag)
            case NID_safeContentsBag:
                if let inner = unsafe PKCS12_SAFEBAG_get0_safes(bag) { try unsafe readBags(inner, depth: depth + 1) }
            default: break
            }
        }
    }

    private mutating func readKey(_ bag: OpaquePointer) throws(CryptoError) {
        guard let info = unsafe PKCS12_SAFEBAG_get0_p8inf(bag) else { throw CryptoError(.malformed, "PKCS#12 key") }
        try unsafe append(PrivateKey(checking: KeyHandle(info: info)), of: bag)
    }

    private mutating func readEncryptedKey(_ bag: OpaquePointer) throws(CryptoError) {
        let info = try unsafe Handle("PKCS#12 key", failing: refusal, release: PKCS8_PRIV_KEY_INFO_free) { context in
            unsafe PKCS12_decrypt_skey_ex(bag, password, length, context, nil)
        }
        try unsafe append(PrivateKey(checking: KeyHandle(info)), of: bag)
    }

    private mutating func append(_ key: PrivateKey, of bag: OpaquePointer) throws(CryptoError) {
        try key.checkParts()
        keys.append(key)
        let hash = key.publicKey.keyHash
        unsafe names.ofKeys[hash] = names.ofKeys[hash] ?? PKCS12Reader.name(of: bag)
    }

    /// Reads the certificate from the bag's DER, since OpenSSL would read it in its default context.
    ///
    ///     SafeBag ::= SEQUENCE { bagId OBJECT IDENTIFIER, bagValue [0] EXPLICIT CertBag, bagAttributes SET OPTIONAL }
    ///     CertBag ::= SEQUENCE { certId OBJECT IDENTIFIER, certValue [0] EXPLICIT OCTET STRING }
    private mutating func readCertificate(_ bag: OpaquePointer) throws(CryptoError) {
        guard unsafe PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate else { return }
        let der = try unsafe [UInt8](encoding: "PKCS#12 certificate") { unsafe i2d_PKCS12_SAFEBAG(bag, $0) }
        var outer = TLVReader(der, .der)
        var safeBag = try outer.read(DER.Tag.sequence).reader
        _ = try safeBag.read(DER.Tag.objectIdentifier)
        var value = try safeBag.read(DER.Tag.context(0)).reader
        var certBag = try value.read(DER.Tag.sequence).reader
        _ = try certBag.read(DER.Tag.objectIdentifier)
        var wrapped = try certBag.read(DER.Tag.context(0)).reader
        let certificate = try Certificate(der: wrapped.read(DER.Tag.octetString).value)
        certificates.append(certificate)
        let hash = certificate.keyHash
        unsafe names.ofCertificates[hash] = names.ofCertificates[hash] ?? PKCS12Reader.name(of: bag)
    }

    private static func name(of bag: OpaquePointer) -> String? {
        guard let name = unsafe PKCS12_get_friendlyname(bag) else { return nil }
        defer { unsafe CRYPTO_free(name, nil, 0) }
        return unsafe DisplayText.escaped(String(cString: name))
    }

    /// The indices of a stack's elements; none for a null stack, whose count is negative.
    private static func indices(of stack: OpaquePointer) -> Range<Int32> {
        unsafe 0..<max(OPENSSL_sk_num(stack), 0)
    }

    static let freeSafes: Handle.Release = { safes in
        unsafe OPENSSL_sk_pop_free(safes) { unsafe PKCS7_free($0?.assumingMemoryBound(to: PKCS7.self)) }
    }

    static let freeBags: Handle.Release = { bags in
        unsafe OPENSSL_sk_pop_free(bags) { unsafe PKCS12_SAFEBAG_free($0.map(OpaquePointer.init)) }
    }
}
