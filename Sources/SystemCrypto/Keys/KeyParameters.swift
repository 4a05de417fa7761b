internal import COpenSSL

extension KeyHandle {
    /// A key from its numbers. Wraps `EVP_PKEY_fromdata`.
    convenience init(
        _ algorithm: String, _ parameters: borrowing ParameterList, hasPrivatePart: Bool
    ) throws(CryptoError) {
        let selection = hasPrivatePart ? OSSL_KEYMGMT_SELECT_KEYPAIR : OSSL_KEYMGMT_SELECT_PUBLIC_KEY
        let maker = try Handle(making: algorithm, of: algorithm)
        let key = try unsafe parameters.withPointer { list throws(CryptoError) in
            try unsafe OpenSSL.call("\(algorithm) key", failing: .malformed) { _ -> OpaquePointer? in
                var key: OpaquePointer?
                let list = unsafe UnsafeMutablePointer(mutating: list)
                guard unsafe EVP_PKEY_fromdata_init(maker.pointer) == 1,
                    unsafe EVP_PKEY_fromdata(
                        maker.pointer, &key, selection | OSSL_KEYMGMT_SELECT_ALL_PARAMETERS, list) == 1
                else { return nil }
                return unsafe key
            }
        }
        try unsafe self.init(algorithm) { _ in unsafe key }
    }

    /// One of the key's numbers, most significant byte first, without leading zeros or `length` bytes long.
    func integer(_ name: String, length: Int? = nil) throws(CryptoError) -> [UInt8] {
        let number = try unsafe Handle(name, release: BN_clear_free) { _ in
            var number: OpaquePointer?
            return unsafe EVP_PKEY_get_bn_param(pointer, name, &number) == 1 ? number : nil
        }
        let count = unsafe length ?? (Int(BN_num_bits(number.pointer)) + 7) / 8
        guard let room = Int32(exactly: count) else { throw CryptoError(.invalidLength, name) }
        return try unsafe [UInt8](capacity: count, name) { _, start, _ in
            unsafe BN_bn2binpad(number.pointer, start, room) == room
        }
    }
}

extension SignatureAlgorithm {
    /// The parameters of `EVP_PKEY_sign_init_ex`.
    func parameters() -> ParameterList {
        var list = ParameterList()
        switch self {
        case .rsaPKCS1(let digest):
            list.add(OSSL_SIGNATURE_PARAM_PAD_MODE, text: OSSL_PKEY_RSA_PAD_MODE_PKCSV15)
            if let digest { list.add(OSSL_SIGNATURE_PARAM_DIGEST, text: digest.openSSLName) }
        case .rsaPSS(let digest, let mgf1, let saltLength):
            list.add(OSSL_SIGNATURE_PARAM_PAD_MODE, text: OSSL_PKEY_RSA_PAD_MODE_PSS)
            list.add(OSSL_SIGNATURE_PARAM_DIGEST, text: digest.openSSLName)
            list.add(OSSL_SIGNATURE_PARAM_MGF1_DIGEST, text: mgf1.openSSLName)
            let length = saltLength.map { String($0) } ?? OSSL_PKEY_RSA_PSS_SALT_LEN_AUTO
            list.add(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, text: length)
        case .rsaRaw, .ecdsa, .ed25519: break
        }
        return list
    }

    /// - Throws: `unsupported` for an algorithm that is not this key's, `invalidLength` for a digest of another length.
    func check(kind: KeyKind, digestCount: Int) throws(CryptoError) {
        switch (self, kind) {
        case (.rsaPSS(_, _, let saltLength?), .rsa) where !(0...PublicKey.maximumModulusLength ~= saltLength):
            throw CryptoError(.invalidLength, "PSS salt")
        case (.rsaPKCS1, .rsa), (.rsaPSS, .rsa):
            if let digestAlgorithm, digestCount != digestAlgorithm.byteCount {
                throw CryptoError(.invalidLength, "digest of \(digestCount) bytes")
            }
        case (.rsaRaw, .rsa): break
        case (.ecdsa(let digest, _), _) where kind.algorithmName.hasPrefix("EC"):
            if let digest, digestCount != digest.byteCount {
                throw CryptoError(.invalidLength, "digest of \(digestCount) bytes")
            }
        default: throw CryptoError(.unsupported, "signature with \(kind)")
        }
    }
}

extension RSAEncryption {
    /// The parameters of `EVP_PKEY_encrypt_init_ex`.
    func parameters() -> ParameterList {
        var list = ParameterList()
        switch self {
        case .raw:
            list.add(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, text: OSSL_PKEY_RSA_PAD_MODE_NONE)
        case .pkcs1:
            list.add(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, text: OSSL_PKEY_RSA_PAD_MODE_PKCSV15)
        case .oaep(let digest, let mgf1, let label):
            list.add(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, text: OSSL_PKEY_RSA_PAD_MODE_OAEP)
            list.add(OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST, text: digest.openSSLName)
            list.add(OSSL_ASYM_CIPHER_PARAM_MGF1_DIGEST, text: mgf1.openSSLName)
            if !label.isEmpty { list.add(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, octets: label.span) }
        }
        return list
    }
}
