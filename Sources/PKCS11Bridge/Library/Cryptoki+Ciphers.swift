internal import PKCS11Mechanisms
package import CCryptoki
package import SecureBytes
internal import Synchronization
internal import SystemCrypto

// Encryption, decryption, digests: PKCS #11 §5.8 to §5.12.
extension Cryptoki {
    package func encryptInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_ENCRYPT)
        if case .cipher? = MechanismTable.use(of: request.type, for: CKF_ENCRYPT) {
            let secret = try secretKey(key, in: session, for: CKA_ENCRYPT)
            return try session.state.withLock { state throws(CryptokiError) in
                try Cryptoki.requireNoParts(state.encryption?.course)
                state.encryption = nil
                state.encryption = try CipherOperation(
                    request, secret.object, secret: secret.bytes, encrypts: true, login: session.slot.login,
                    handles.quota)
            }
        }
        let publicKey = try publicKey(key, in: session)
        let object = try handles.entry(key, in: session).object
        try session.state.withLock { state throws(CryptokiError) in
            try Cryptoki.requireNoParts(state.encryption?.course)
            state.encryption = nil
            let operation = try CipherOperation(request, object, publicKey, login: session.slot.login)
            guard object.isTrue(CKA_ENCRYPT) else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
            state.encryption = consume operation
        }
    }

    /// - Parameter count: the length of the data, where only the output's length is asked for and the data is not given.
    package func encrypt(
        _ handle: CK_SESSION_HANDLE, _ data: consuming Secret, _ capacity: OutputCapacity, of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        try encrypt(handle, rest: data, .inOne, capacity, of: count)
    }

    /// Encrypts a part. With a public key the output comes at the end: asking for its length takes no data.
    package func encryptUpdate(
        _ handle: CK_SESSION_HANDLE, _ part: consuming Secret, _ capacity: OutputCapacity, of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        let part = part
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            try session.requireLogin(operation.login, for: operation.key)
            let length = operation.outputLength(ofPart: count ?? part.count)
            guard capacity.holds(length) else {
                state.encryption = consume operation
                return .length(length)
            }
            let output = try operation.encrypt(part: part)
            state.encryption = consume operation
            return .secret(output)
        }
    }

    package func encryptFinal(_ handle: CK_SESSION_HANDLE, _ capacity: OutputCapacity) throws(CryptokiError) -> Output {
        try encrypt(handle, rest: Secret(capacity: 0) { _ in }, .inParts, capacity)
    }

    private func encrypt(
        _ handle: CK_SESSION_HANDLE, rest: consuming Secret, _ course: OperationCourse, _ capacity: OutputCapacity,
        of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        let rest = rest
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(course)
            try session.requireLogin(operation.login, for: operation.key)
            let length = operation.outputLength(ofRest: count ?? rest.count)
            guard capacity.holds(length) else {
                state.encryption = consume operation
                return .length(length)
            }
            return .secret(try operation.encrypt(rest: rest))
        }
    }

    // MARK: Decrypting

    package func decryptInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_DECRYPT)
        if case .cipher? = MechanismTable.use(of: request.type, for: CKF_ENCRYPT) {
            let secret = try secretKey(key, in: session, for: CKA_DECRYPT)
            return try session.state.withLock { state throws(CryptokiError) in
                try Cryptoki.requireNoParts(state.decryption?.course)
                state.decryption = nil
                state.decryption = try CipherOperation(
                    request, secret.object, secret: secret.bytes, encrypts: false, login: session.slot.login,
                    handles.quota)
            }
        }
        let object = try privateKey(key, in: session)
        guard object.mechanisms.canDecrypt else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        try session.state.withLock { state throws(CryptokiError) in
            try Cryptoki.requireNoParts(state.decryption?.course)
            state.decryption = nil
            state.decryption = try CipherOperation(request, object, publicKey, login: session.slot.login)
        }
    }

    /// - Parameter count: the length of the ciphertext, where only the output's length is asked for and the ciphertext is not
    ///   given.
    package func decrypt(
        _ handle: CK_SESSION_HANDLE, _ ciphertext: [UInt8], _ capacity: OutputCapacity, of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        try decrypt(handle, rest: ciphertext, .inOne, capacity, of: count)
    }

    /// Decrypts a part. With a private key the output comes at the end: asking for its length takes no data.
    package func decryptUpdate(
        _ handle: CK_SESSION_HANDLE, _ part: [UInt8], _ capacity: OutputCapacity, of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            if operation.scheme == nil { try session.requireLogin(operation.login, for: operation.key) }
            let length = operation.outputLength(ofPart: count ?? part.count)
            guard capacity.holds(length) else {
                state.decryption = consume operation
                return .length(length)
            }
            guard operation.result == nil else { throw CryptokiError(CKR_ENCRYPTED_DATA_LEN_RANGE) }
            let output = try operation.decrypt(part: part)
            state.decryption = consume operation
            return .secret(output)
        }
    }

    package func decryptFinal(_ handle: CK_SESSION_HANDLE, _ capacity: OutputCapacity) throws(CryptokiError) -> Output {
        try decrypt(handle, rest: [], .inParts, capacity)
    }

    private func decrypt(
        _ handle: CK_SESSION_HANDLE, rest: [UInt8], _ course: OperationCourse, _ capacity: OutputCapacity,
        of count: Int? = nil
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(course)
            if case .query = capacity {
                let length = operation.outputLength(ofRest: count ?? rest.count)
                state.decryption = consume operation
                return .length(length)
            }
            return try Cryptoki.finish(operation, rest, capacity, in: session, &state)
        }
    }

    /// The plaintext where it fits the buffer. Otherwise the operation goes on and keeps the plaintext, so that the card is not
    /// asked again.
    private static func finish(
        _ operation: consuming CipherOperation, _ ciphertext: [UInt8], _ capacity: OutputCapacity,
        in session: PKCS11Session,
        _ state: inout PKCS11Session.State
    ) throws(CryptokiError) -> Output {
        var operation = operation
        let key = operation.key
        try session.requireLogin(operation.login, for: key)
        if operation.result == nil {
            let plaintext = try operation.decrypt(rest: ciphertext) { use, isAuthorized throws(CryptokiError) in
                try session.perform(use, with: key, isAuthorized: isAuthorized)
            }
            if capacity.holds(plaintext.count) { return .secret(plaintext) }
            try operation.keep(plaintext)
        }
        let length = operation.outputLength()
        guard capacity.holds(length), let result = operation.takeResult() else {
            state.decryption = consume operation
            return .length(length)
        }
        return .secret(result)
    }

    // MARK: Digests

    package func digestInit(_ handle: CK_SESSION_HANDLE, _ request: MechanismRequest) throws(CryptokiError) {
        let session = try session(handle)
        guard case .digest(let algorithm) = try request.use(for: CKF_DIGEST) else { throw MechanismRequest.unknown }
        try request.requireNoParameter()
        try session.state.withLock { state throws(CryptokiError) in
            guard state.digest?.course != .inParts else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.digest = nil
            state.digest = try Input(algorithm, limit: 0)
        }
    }

    package func digest(
        _ handle: CK_SESSION_HANDLE, _ data: [UInt8], _ capacity: OutputCapacity
    ) throws(CryptokiError) -> Output {
        try digest(handle, rest: data, .inOne, capacity)
    }

    package func digestUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(.inParts)
            try input.append(part)
            state.digest = consume input
        }
    }

    /// Digests the bytes of a secret key as a part of the message. PKCS #11 §5.12.4.
    ///
    /// - Throws: `CKR_KEY_INDIGESTIBLE` for other kinds of keys.
    package func digestKey(_ handle: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) throws(CryptokiError) {
        let session = try session(handle)
        try session.state.withLock { state throws(CryptokiError) in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(.inParts)
            let secret = try Cryptoki.renaming([CKR_KEY_TYPE_INCONSISTENT: CKR_KEY_INDIGESTIBLE]) {
                () throws(CryptokiError) in try secretKey(key, in: session, for: nil)
            }
            try input.append(key: secret.bytes)
            state.digest = consume input
        }
    }

    package func digestFinal(_ handle: CK_SESSION_HANDLE, _ capacity: OutputCapacity) throws(CryptokiError) -> Output {
        try digest(handle, rest: [], .inParts, capacity)
    }

    private func digest(
        _ handle: CK_SESSION_HANDLE, rest: [UInt8], _ course: OperationCourse, _ capacity: OutputCapacity
    ) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(course)
            let length = input.digestLength
            guard capacity.holds(length) else {
                state.digest = consume input
                return .length(length)
            }
            try input.append(rest)
            return .bytes(try input.finish())
        }
    }

    // MARK: Random bytes

    package func random(_ handle: CK_SESSION_HANDLE, count: Int) throws(CryptokiError) -> Secret {
        _ = try session(handle)
        return try CryptokiError.mapping { () throws(CryptoError) in try RandomBytes.makeSecret(count: count) }
    }

    package func requireSession(_ handle: CK_SESSION_HANDLE) throws(CryptokiError) { _ = try session(handle) }
}
