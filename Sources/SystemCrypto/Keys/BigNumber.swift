internal import COpenSSL
internal import SecureBytes

/// A number of a private key, wiped when it ends. Wraps `BIGNUM`.
struct BigNumber: ~Copyable {
    let handle: Handle

    /// A number from its bytes, most significant first.
    init(_ bytes: Span<UInt8>) throws(CryptoError) {
        guard let length = Int32(exactly: bytes.count) else { throw CryptoError(.invalidLength, "number") }
        handle = try unsafe bytes.withPointer { start, _ throws(CryptoError) in
            try unsafe Handle("number", release: BN_clear_free) { _ in unsafe BN_bin2bn(start, length, nil) }
        }
        unsafe BN_set_flags(handle.pointer, BN_FLG_CONSTTIME)
    }

    /// A number that OpenSSL computes. `body` gets the destination and a context for intermediate values.
    init(_ body: (OpaquePointer, OpaquePointer) -> Int32) throws(CryptoError) {
        let intermediates = try unsafe Handle("number", release: BN_CTX_free) { unsafe BN_CTX_new_ex($0) }
        let result = try unsafe Handle("number", release: BN_clear_free) { _ in unsafe BN_new() }
        try unsafe OpenSSL.check("number", failing: .invalidKey) { _ in
            unsafe body(result.pointer, intermediates.pointer)
        }
        unsafe BN_set_flags(result.pointer, BN_FLG_CONSTTIME)
        handle = result
    }

    /// One of a key's numbers. Wraps `EVP_PKEY_get_params`; `EVP_PKEY_get_bn_param` leaves a copy on the stack.
    init(_ name: String, of key: KeyHandle) throws(CryptoError) {
        let digits = try unsafe Secret(capacity: PublicKey.maximumModulusLength, name) { _, start, count in
            unsafe name.withCString { name in
                var list = unsafe [
                    OSSL_PARAM(
                        key: name, data_type: UInt32(OSSL_PARAM_UNSIGNED_INTEGER), data: start, data_size: count,
                        return_size: ParameterList.unmodified), OSSL_PARAM(),
                ]
                guard unsafe EVP_PKEY_get_params(key.pointer, &list) == 1 else { return false }
                count = unsafe list[0].return_size == ParameterList.unmodified ? -1 : list[0].return_size
                return true
            }
        }
        handle = try unsafe digits.bytes.withPointer { start, count throws(CryptoError) in
            try unsafe Handle(name, release: BN_clear_free) { _ in
                unsafe BN_native2bn(start, Int32(truncatingIfNeeded: count), nil)
            }
        }
        unsafe BN_set_flags(handle.pointer, BN_FLG_CONSTTIME)
    }

    var pointer: OpaquePointer { unsafe handle.pointer }

    /// Bytes without leading zeros.
    var byteCount: Int { unsafe (Int(BN_num_bits(pointer)) + 7) / 8 }

    /// The bytes, most significant first, padded with zeros to `length` or without leading zeros.
    func bytes(length: Int? = nil) throws(CryptoError) -> Secret {
        let count = length ?? byteCount
        guard let room = Int32(exactly: count) else { throw CryptoError(.invalidLength, "number") }
        return try unsafe Secret(capacity: count, "number", failing: .invalidLength) { _, start, _ in
            unsafe BN_bn2binpad(pointer, start, room) == room
        }
    }

    func minusOne() throws(CryptoError) -> BigNumber {
        try unsafe BigNumber { result, _ in
            unsafe BN_copy(result, pointer) != nil ? unsafe BN_sub_word(result, 1) : 0
        }
    }

    func times(_ other: borrowing BigNumber) throws(CryptoError) -> BigNumber {
        let factor = unsafe other.pointer
        return try unsafe BigNumber { unsafe BN_mul($0, pointer, factor, $1) }
    }

    func remainder(dividingBy modulus: borrowing BigNumber) throws(CryptoError) -> BigNumber {
        let divisor = unsafe modulus.pointer
        return try unsafe BigNumber { unsafe BN_div(nil, $0, pointer, divisor, $1) }
    }

    /// - Throws: `invalidKey` when there is no inverse.
    func inverse(modulo modulus: borrowing BigNumber) throws(CryptoError) -> BigNumber {
        let divisor = unsafe modulus.pointer
        return try unsafe BigNumber { unsafe BN_mod_inverse($0, pointer, divisor, $1) == nil ? 0 : 1 }
    }

    func equals(_ other: borrowing BigNumber) -> Bool {
        unsafe BN_cmp(pointer, other.pointer) == 0
    }

    var isOne: Bool { unsafe BN_is_one(pointer) == 1 }
}
