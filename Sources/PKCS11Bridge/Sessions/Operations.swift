internal import CCryptoki
package import SecureBytes
internal import SystemCrypto

/// The course of an operation that a program has begun: in one call or in parts, which are not mixed. PKCS #11 §5.8 to
/// §5.14.
enum OperationCourse {
    case open
    /// The program asked for the output length of a single call, or its buffer was too small.
    case inOne
    /// A part has come already.
    case inParts

    /// - Throws: `CKR_OPERATION_ACTIVE`. It ends the operation, as any failure does.
    mutating func goOn(_ way: OperationCourse) throws(CryptokiError) {
        guard self == .open || self == way else {
            throw CryptokiError(CKR_OPERATION_ACTIVE, "it was begun \(self == .inOne ? "in one call" : "in parts")")
        }
        self = way
    }

    /// Begins a single call whose data follows in several messages.
    ///
    /// - Throws: `CKR_OPERATION_ACTIVE`.
    mutating func beginOne() throws(CryptokiError) {
        try goOn(.inOne)
        self = .open
    }
}

/// The input in one or more parts: digested on arrival, or collected where there is no digest.
struct Input: ~Copyable {
    private var digest: DigestContext?
    private var code: HMACContext?
    private var collected: [UInt8] = []
    private let limit: Int
    /// The share of the quota for the collected parts; nil where ``limit`` is a few bytes.
    private var share: QuotaShare?
    var course = OperationCourse.open

    init(_ algorithm: DigestAlgorithm?, limit: Int, _ quota: MemoryQuota? = nil) throws(CryptokiError) {
        self.limit = limit
        share = try quota?.operationShare()
        digest = try CryptokiError.mapping { () throws(CryptoError) -> DigestContext? in
            switch algorithm {
            case .some(let algorithm): try DigestContext(algorithm)
            case .none: nil
            }
        }
    }

    /// The input of an authentication code with a key of these bytes.
    init(_ scheme: CodeScheme, key: borrowing Secret) throws(CryptokiError) {
        limit = .max
        do throws(CryptoError) {
            code = try HMACContext(scheme.digest, key: key)
        } catch {
            throw CryptokiError(error)
        }
    }

    /// Digests the bytes of a key.
    mutating func append(key: borrowing Secret) throws(CryptokiError) {
        do throws(CryptoError) { try digest?.update(key.bytes) } catch { throw CryptokiError(error) }
    }

    /// - Throws: `CKR_DATA_LEN_RANGE`, `CKR_DEVICE_MEMORY`.
    mutating func append(_ part: [UInt8]) throws(CryptokiError) {
        do throws(CryptoError) {
            if try digest?.update(part) != nil { return }
            if try code?.update(part) != nil { return }
        } catch {
            throw CryptokiError(error)
        }
        guard collected.count + part.count <= limit else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        try share?.grow(by: part.count)
        collected += part
    }

    /// Bytes of the digest.
    var digestLength: Int {
        switch digest {
        case .some(let context): context.algorithm.byteCount
        case .none: 0
        }
    }

    /// Removes the collected bytes and returns them.
    mutating func taken() throws(CryptokiError) -> [UInt8] {
        defer { collected = [] }
        return collected
    }

    /// The digest or the code, or the collected bytes.
    mutating func finish() throws(CryptokiError) -> [UInt8] {
        if let context = code.take() {
            do throws(CryptoError) { return try context.finalize() } catch { throw CryptokiError(error) }
        }
        guard let context = digest.take() else { return try taken() }
        do throws(CryptoError) { return try context.finalize() } catch { throw CryptokiError(error) }
    }
}

/// A signature or a code that is being made or verified.
struct SignatureOperation: ~Copyable {
    let key: CryptokiObject
    let scheme: SigningScheme
    /// The login in which the operation was begun, and with which it ends.
    let login: Int?
    var input: Input
    /// Whether the program has logged in for this one use of the key.
    var isAuthorized = false

    init(
        _ request: MechanismRequest, _ key: CryptokiObject, _ publicKey: PublicKey, login: Int?, _ quota: MemoryQuota
    ) throws(CryptokiError) {
        let scheme = try SignatureScheme(request, key: publicKey)
        input = try Input(scheme.digest, limit: scheme.inputLimit, quota)
        (self.key, self.scheme, self.login) = (key, .signature(scheme), login)
    }

    /// - Parameter bytes: the secret key.
    init(
        _ request: MechanismRequest, _ key: CryptokiObject, secret bytes: borrowing Secret, login: Int?
    ) throws(CryptokiError) {
        let scheme = try CodeScheme(request, key: key)
        input = try Input(scheme, key: bytes)
        (self.key, self.scheme, self.login) = (key, .code(scheme), login)
    }
}

/// An encryption or a decryption under way.
struct CipherOperation: ~Copyable {
    let key: CryptokiObject
    let login: Int?
    /// The scheme of a key pair; nil with a secret key.
    let scheme: EncryptionScheme?
    /// The running cipher of a secret key; nil with a key pair.
    private var cipher: SecretCipher?
    /// The collected parts of a ciphertext for a key pair.
    private var input: Input
    /// The collected parts of a plaintext for a key pair.
    private var plaintext: Secret?
    /// Whether the program has logged in for this one use of the key.
    var isAuthorized = false
    var course = OperationCourse.open
    /// The output, kept until it fits the program's buffer, so that the card is not asked twice.
    private(set) var result: Secret?
    /// The share of the quota for the data of an operation with a secret key; nil with a key pair, whose data are short.
    private var share: QuotaShare?

    init(
        _ request: MechanismRequest, _ key: CryptokiObject, _ publicKey: PublicKey, login: Int?
    ) throws(CryptokiError) {
        let scheme = try EncryptionScheme(request, key: publicKey)
        input = try Input(nil, limit: scheme.length)
        (self.key, self.scheme, self.login) = (key, scheme, login)
    }

    /// - Parameter bytes: the secret key.
    init(
        _ request: MechanismRequest, _ key: CryptokiObject, secret bytes: borrowing Secret, encrypts: Bool,
        login: Int?, _ quota: MemoryQuota
    ) throws(CryptokiError) {
        let share = try quota.operationShare()
        cipher = try SecretCipher(request, encrypts: encrypts, key: bytes, share)
        self.share = share
        input = try Input(nil, limit: 0)
        (self.key, scheme, self.login) = (key, nil, login)
    }

    /// The number of bytes that a further part gives.
    func outputLength(ofPart count: Int) -> Int {
        switch cipher {
        case .some(let cipher): cipher.outputLength(ofPart: count)
        case .none: 0
        }
    }

    /// The number of bytes that further data and the end give: exact for decrypted data, else the maximum.
    func outputLength(ofRest count: Int = 0) -> Int {
        switch result {
        case .some(let result): return result.count
        case .none: break
        }
        return switch cipher {
        case .some(let cipher): cipher.outputLength(ofRest: count)
        case .none: scheme?.length ?? 0
        }
    }

    /// Keeps a result that does not fit the program's buffer.
    ///
    /// - Throws: `CKR_DEVICE_MEMORY`.
    mutating func keep(_ result: consuming Secret) throws(CryptokiError) {
        try share?.grow(by: result.count)
        self.result = consume result
    }

    /// Removes the kept result and returns it.
    mutating func takeResult() -> Secret? { result.take() }

    // MARK: Encrypting

    /// - Throws: `CKR_DATA_LEN_RANGE`.
    mutating func encrypt(part: borrowing Secret) throws(CryptokiError) -> Secret {
        if let output = try cipher?.update(part.bytes) { return output }
        let former = plaintext.take() ?? Secret(capacity: 0) { _ in }
        guard former.count + part.count <= scheme?.length ?? 0 else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        plaintext = Secret(joining: former.bytes, part.bytes)
        return Secret(capacity: 0) { _ in }
    }

    /// - Throws: `CKR_DATA_LEN_RANGE`, `CKR_DATA_INVALID`.
    mutating func encrypt(rest: borrowing Secret) throws(CryptokiError) -> Secret {
        if let output = try cipher?.finish(rest.bytes) { return output }
        guard let scheme else { throw Cryptoki.notBegun }
        var ciphertext: [UInt8]
        switch plaintext.take() {
        case .some(let former): ciphertext = try scheme.encrypt(Secret(joining: former.bytes, rest.bytes))
        case .none: ciphertext = try scheme.encrypt(rest)
        }
        return Secret(consuming: &ciphertext)
    }

    // MARK: Decrypting

    /// - Throws: `CKR_ENCRYPTED_DATA_LEN_RANGE`.
    mutating func decrypt(part: [UInt8]) throws(CryptokiError) -> Secret {
        do throws(CryptokiError) {
            if let output = try cipher?.update(part.span) { return output }
            try input.append(part)
            return Secret(capacity: 0) { _ in }
        } catch {
            throw error.ofCiphertext
        }
    }

    /// - Parameter perform: uses the private key.
    /// - Throws: `CKR_ENCRYPTED_DATA_LEN_RANGE`, `CKR_ENCRYPTED_DATA_INVALID`.
    mutating func decrypt(
        rest: [UInt8], _ perform: (KeyUse, _ isAuthorized: Bool) throws(CryptokiError) -> Secret
    ) throws(CryptokiError) -> Secret {
        do throws(CryptokiError) {
            if let output = try cipher?.finish(rest.span) { return output }
            try input.append(rest)
        } catch {
            throw error.ofCiphertext
        }
        guard let scheme else { throw Cryptoki.notBegun }
        let use = try scheme.use(for: input.taken())
        do throws(CryptokiError) {
            return try perform(use, isAuthorized)
        } catch {
            guard error.code == CKR_DATA_INVALID else { throw error }
            throw CryptokiError(CKR_ENCRYPTED_DATA_INVALID, error.reason)
        }
    }
}

extension CryptokiError {
    /// The error as decrypting functions return it.
    fileprivate var ofCiphertext: CryptokiError {
        code == CKR_DATA_LEN_RANGE ? CryptokiError(CKR_ENCRYPTED_DATA_LEN_RANGE, reason) : self
    }
}

/// The size of the program's output buffer. PKCS #11 §5.2.
package enum OutputCapacity: Sendable {
    /// No buffer: the program asks for the size.
    case query
    case bytes(Int)

    func holds(_ count: Int) -> Bool {
        if case .bytes(let capacity) = self { capacity >= count } else { false }
    }
}

/// A program's output: the bytes, or their number.
package enum Output: ~Copyable {
    case bytes([UInt8])
    case secret(Secret)
    case length(Int)
}
