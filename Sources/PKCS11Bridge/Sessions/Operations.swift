internal import CCryptoki
internal import SystemCrypto
package import TokenKit

/// How a program goes on with an operation that it has begun. The two ways are not mixed. PKCS #11 §5.8 to §5.14.
enum OperationCourse {
    case open
    /// The length of a result in one call was asked, or there was too little room for it.
    case inOne
    /// A part has come already.
    case inParts

    /// - Throws: `CKR_OPERATION_ACTIVE`, which ends the operation as any failure does.
    mutating func goOn(_ way: OperationCourse) throws(CryptokiError) {
        guard self == .open || self == way else {
            throw CryptokiError(CKR_OPERATION_ACTIVE, "it was begun \(self == .inOne ? "in one call" : "in parts")")
        }
        self = way
    }

    /// Begins a call whose data follows in parts of the wire's own.
    ///
    /// - Throws: `CKR_OPERATION_ACTIVE`.
    mutating func beginOne() throws(CryptokiError) {
        try goOn(.inOne)
        self = .open
    }
}

/// Bytes that come in one or more parts: digested as they come where there is a digest, collected where there is none.
struct Input: ~Copyable {
    private var digest: DigestContext?
    private var collected: [UInt8] = []
    private let limit: Int
    var course = OperationCourse.open

    init(_ algorithm: DigestAlgorithm?, limit: Int) throws(CryptokiError) {
        self.limit = limit
        digest = try CryptokiError.mapping { () throws(CryptoError) -> DigestContext? in
            switch algorithm {
            case .some(let algorithm): try DigestContext(algorithm)
            case .none: nil
            }
        }
    }

    /// - Throws: `CKR_DATA_LEN_RANGE`.
    mutating func append(_ part: [UInt8]) throws(CryptokiError) {
        do throws(CryptoError) {
            if try digest?.update(part) != nil { return }
        } catch {
            throw CryptokiError(error)
        }
        guard collected.count + part.count <= limit else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        collected += part
    }

    /// Bytes of the digest.
    var digestLength: Int {
        switch digest {
        case .some(let context): context.algorithm.byteCount
        case .none: 0
        }
    }

    /// What was collected, which is no longer here.
    mutating func taken() throws(CryptokiError) -> [UInt8] {
        defer { collected = [] }
        return collected
    }

    /// The digest, or what was collected.
    mutating func finish() throws(CryptokiError) -> [UInt8] {
        guard let context = digest.take() else { return try taken() }
        do throws(CryptoError) { return try context.finalize() } catch { throw CryptokiError(error) }
    }
}

/// A signature that is being made.
struct SignatureOperation: ~Copyable {
    let key: CryptokiObject
    let scheme: SignatureScheme
    /// The login that it was begun in, and ends with.
    let login: Int?
    var input: Input
    /// The PIN that was given for this one use of the key.
    var pin: Secret?

    init(
        _ request: MechanismRequest, _ key: CryptokiObject, _ publicKey: PublicKey, login: Int?
    ) throws(CryptokiError) {
        let scheme = try SignatureScheme(request, key: publicKey)
        input = try Input(scheme.digest, limit: scheme.inputLimit)
        (self.key, self.scheme, self.login) = (key, scheme, login)
    }
}

/// A signature that is being checked.
struct VerificationOperation: ~Copyable {
    let scheme: SignatureScheme
    var input: Input

    init(_ request: MechanismRequest, _ publicKey: PublicKey) throws(CryptokiError) {
        let scheme = try SignatureScheme(request, key: publicKey)
        input = try Input(scheme.digest, limit: scheme.inputLimit)
        self.scheme = scheme
    }
}

/// Something that is being encrypted or decrypted.
struct CipherOperation: ~Copyable {
    let key: CryptokiObject
    let scheme: EncryptionScheme
    let login: Int?
    /// The ciphertext that came in parts.
    var input: Input
    /// The plaintext that came in parts.
    var plaintext: Secret?
    var pin: Secret?
    var course = OperationCourse.open
    /// What came out, while the program finds room for it: the card is not asked twice.
    var result: Secret?

    init(
        _ request: MechanismRequest, _ key: CryptokiObject, _ publicKey: PublicKey, login: Int?
    ) throws(CryptokiError) {
        let scheme = try EncryptionScheme(request, key: publicKey)
        input = try Input(nil, limit: scheme.length)
        (self.key, self.scheme, self.login) = (key, scheme, login)
    }
}

/// How much room a program has for what it gets. PKCS #11 §5.2.
package enum Room: Sendable {
    /// It asks how much it needs.
    case query
    case bytes(Int)

    func holds(_ count: Int) -> Bool {
        if case .bytes(let room) = self { room >= count } else { false }
    }
}

/// What a program gets: the bytes, or how many there will be.
package enum Output: ~Copyable {
    case bytes([UInt8])
    case secret(Secret)
    case length(Int)
}
