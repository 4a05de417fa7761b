package import CCryptoki
internal import Synchronization
internal import SystemCrypto
package import TokenKit

// Encryption, decryption, keys that are wrapped or agreed on, digests: PKCS #11 §5.8 to §5.18.
extension Cryptoki {
    package func encryptInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_ENCRYPT)
        let publicKey = try publicKey(key, in: session)
        let object = try handles.entry(key, in: session).object
        try session.state.withLock { state throws(CryptokiError) in
            guard state.encryption?.course != .inParts else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.encryption = nil
            let operation = try CipherOperation(request, object, publicKey, login: session.slot.login)
            guard object.isTrue(CKA_ENCRYPT) else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
            state.encryption = consume operation
        }
    }

    package func encrypt(
        _ handle: CK_SESSION_HANDLE, _ data: consuming Secret, _ room: Room
    ) throws(CryptokiError) -> Output {
        let plaintext = data
        return try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inOne)
            let scheme = operation.scheme
            guard room.holds(scheme.length) else {
                state.encryption = consume operation
                return .length(scheme.length)
            }
            return .bytes(try scheme.encrypt(plaintext))
        }
    }

    /// What comes out comes at the end. Whoever asks how much that is has given nothing yet.
    package func encryptUpdate(
        _ handle: CK_SESSION_HANDLE, _ part: consuming Secret, _ room: Room
    ) throws(CryptokiError) -> Output {
        let part = part
        return try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            if case .query = room {
                state.encryption = consume operation
                return .length(0)
            }
            try operation.appendPlaintext(part)
            state.encryption = consume operation
            return .bytes([])
        }
    }

    package func encryptFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            let length = operation.scheme.length
            guard room.holds(length) else {
                state.encryption = consume operation
                return .length(length)
            }
            return .bytes(try operation.encrypt())
        }
    }

    // MARK: Decrypting

    package func decryptInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_DECRYPT)
        let object = try privateKey(key, in: session)
        guard object.mechanisms.canDecrypt else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        try session.state.withLock { state throws(CryptokiError) in
            guard state.decryption?.course != .inParts else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.decryption = nil
            state.decryption = try CipherOperation(request, object, publicKey, login: session.slot.login)
        }
    }

    package func decrypt(
        _ handle: CK_SESSION_HANDLE, _ ciphertext: [UInt8], _ room: Room
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inOne)
            if case .query = room {
                let length = operation.knownLength
                state.decryption = consume operation
                return .length(length)
            }
            return try Cryptoki.finish(operation, ciphertext, room, in: session, &state)
        }
    }

    /// What comes out comes at the end. Whoever asks how much that is has given nothing yet.
    package func decryptUpdate(
        _ handle: CK_SESSION_HANDLE, _ part: [UInt8], _ room: Room
    ) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            if case .query = room {
                state.decryption = consume operation
                return .length(0)
            }
            guard operation.result == nil else { throw CryptokiError(CKR_ENCRYPTED_DATA_LEN_RANGE) }
            try operation.appendCiphertext(part)
            state.decryption = consume operation
            return .bytes([])
        }
    }

    package func decryptFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.course.goOn(.inParts)
            if case .query = room {
                let length = operation.knownLength
                state.decryption = consume operation
                return .length(length)
            }
            return try Cryptoki.finish(operation, [], room, in: session, &state)
        }
    }

    private static func finish(
        _ operation: consuming CipherOperation, _ ciphertext: [UInt8], _ room: Room, in session: Session,
        _ state: inout Session.State
    ) throws(CryptokiError) -> Output {
        var operation = operation
        try session.requireLogin(operation.login, for: operation.key)
        if operation.result == nil { operation.result = try open(&operation, ciphertext, in: session) }
        return give(operation, room, &state)
    }

    private static func open(
        _ operation: inout CipherOperation, _ ciphertext: [UInt8], in session: Session
    ) throws(CryptokiError) -> Secret {
        try operation.appendCiphertext(ciphertext)
        let whole = try operation.input.taken()
        let pin = operation.pin.take()
        let (scheme, key) = (operation.scheme, operation.key)
        return try renaming([CKR_DATA_INVALID: CKR_ENCRYPTED_DATA_INVALID]) { () throws(CryptokiError) in
            try scheme.plaintext(from: session.perform(scheme.action(for: whole), with: key, pin: pin))
        }
    }

    /// The plaintext where there is room for it; else the operation goes on, and the card is not asked again.
    private static func give(
        _ operation: consuming CipherOperation, _ room: Room, _ state: inout Session.State
    ) -> Output {
        var operation = operation
        let length = operation.knownLength
        guard room.holds(length), let result = operation.result.take() else {
            state.decryption = consume operation
            return .length(length)
        }
        return .secret(result)
    }

    // MARK: Wrapped keys

    package func wrapKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, wrapping: CK_OBJECT_HANDLE, key: CK_OBJECT_HANDLE,
        _ room: Room
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_WRAP)
        let entry = try handles.keyEntry(key, in: session)
        let publicKey = try Cryptoki.renaming([
            CKR_KEY_HANDLE_INVALID: CKR_WRAPPING_KEY_HANDLE_INVALID,
            CKR_KEY_TYPE_INCONSISTENT: CKR_WRAPPING_KEY_TYPE_INCONSISTENT,
        ]) { () throws(CryptokiError) in try self.publicKey(wrapping, in: session) }
        let scheme = try Cryptoki.renaming([CKR_KEY_TYPE_INCONSISTENT: CKR_WRAPPING_KEY_TYPE_INCONSISTENT]) {
            () throws(CryptokiError) in try EncryptionScheme(request, key: publicKey)
        }
        guard try handles.entry(wrapping, in: session).object.isTrue(CKA_WRAP) else {
            throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED)
        }
        guard let secret = entry.secret else { throw CryptokiError(CKR_KEY_NOT_WRAPPABLE) }
        guard entry.object.isTrue(CKA_EXTRACTABLE) else { throw CryptokiError(CKR_KEY_UNEXTRACTABLE) }
        guard room.holds(scheme.length) else { return .length(scheme.length) }
        return try Cryptoki.renaming([CKR_DATA_LEN_RANGE: CKR_KEY_SIZE_RANGE, CKR_DATA_INVALID: CKR_KEY_SIZE_RANGE]) {
            () throws(CryptokiError) in .bytes(try scheme.encrypt(secret.clone()))
        }
    }

    package func unwrapKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, unwrapping: CK_OBJECT_HANDLE, _ wrapped: [UInt8],
        _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_UNWRAP)
        let object = try Cryptoki.renaming([
            CKR_KEY_HANDLE_INVALID: CKR_UNWRAPPING_KEY_HANDLE_INVALID,
            CKR_KEY_TYPE_INCONSISTENT: CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT,
        ]) { () throws(CryptokiError) in try privateKey(unwrapping, in: session) }
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT) }
        try requireSecretKey(template, in: session)
        let scheme = try Cryptoki.renaming([CKR_KEY_TYPE_INCONSISTENT: CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT]) {
            () throws(CryptokiError) in try EncryptionScheme(request, key: publicKey)
        }
        guard object.mechanisms.canUnwrap else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        guard wrapped.count == scheme.length else { throw CryptokiError(CKR_WRAPPED_KEY_LEN_RANGE) }
        let invalid = [CKR_ENCRYPTED_DATA_INVALID, CKR_DATA_INVALID].map { ($0, CKR_WRAPPED_KEY_INVALID) }
        let secret = try Cryptoki.renaming(Dictionary(uniqueKeysWithValues: invalid)) {
            () throws(CryptokiError) in
            let result = try session.perform(scheme.action(for: wrapped), with: object, pin: nil)
            return try scheme.plaintext(from: result)
        }
        return try addSecretKey(secret, template, in: session, invalid: CKR_WRAPPED_KEY_INVALID)
    }

    package func deriveKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, base: CK_OBJECT_HANDLE, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_DERIVE)
        let object = try privateKey(base, in: session)
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        try requireSecretKey(template, in: session)
        let scheme = try AgreementScheme(request, key: publicKey)
        guard object.mechanisms.canDerive else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        let count = try template.ulong(CKA_VALUE_LEN).map { Int(clamping: $0) }
        // What does not fit the key is the other side's, which is the mechanism's parameter.
        let result = try Cryptoki.renaming([CKR_DATA_INVALID: CKR_MECHANISM_PARAM_INVALID]) {
            () throws(CryptokiError) in try session.perform(scheme.action, with: object, pin: nil)
        }
        return try addSecretKey(
            scheme.keyBytes(from: result, count: count), template, in: session, invalid: CKR_TEMPLATE_INCONSISTENT)
    }

    /// Keys that come of others last as long as their session. The card is not asked for one that could not be made.
    private func requireSecretKey(_ template: Template, in session: Session) throws(CryptokiError) {
        try TemplateRules.check(template, for: CKO_SECRET_KEY)
        _ = (try template.bool(CKA_SENSITIVE), try template.bool(CKA_EXTRACTABLE), try template.ulong(CKA_VALUE_LEN))
        if let objectClass = try template.ulong(CKA_CLASS), objectClass != CKO_SECRET_KEY {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only secret keys")
        }
        guard !template.types.contains(CKA_VALUE) else { throw TemplateRules.contradiction(CKA_VALUE) }
        if try template.bool(CKA_TOKEN) == true {
            try requireWritable(session)
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "secret keys end with their session")
        }
        _ = try template.bool(CKA_PRIVATE)
    }

    /// Runs `body`, and says of a failure what it is called where keys are wrapped.
    private static func renaming<Result: ~Copyable>(
        _ names: [CK_RV: CK_RV], _ body: () throws(CryptokiError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(CryptokiError) { return try body() } catch {
            throw CryptokiError(names[error.code] ?? error.code, error.reason)
        }
    }

    // MARK: Digests

    package func digestInit(_ handle: CK_SESSION_HANDLE, _ request: MechanismRequest) throws(CryptokiError) {
        let session = try session(handle)
        guard let algorithm = DigestAlgorithm(mechanism: request.type) else { throw MechanismRequest.unknown }
        try request.requireNoParameter()
        try session.state.withLock { state throws(CryptokiError) in
            guard state.digest?.course != .inParts else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.digest = nil
            state.digest = try Input(algorithm, limit: 0)
        }
    }

    package func digest(
        _ handle: CK_SESSION_HANDLE, _ data: [UInt8], _ room: Room
    ) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(.inOne)
            let length = input.digestLength
            guard room.holds(length) else {
                state.digest = consume input
                return .length(length)
            }
            try input.append(data)
            return .bytes(try input.finish())
        }
    }

    package func digestUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(.inParts)
            try input.append(part)
            state.digest = consume input
        }
    }

    package func digestFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.course.goOn(.inParts)
            let length = input.digestLength
            guard room.holds(length) else {
                state.digest = consume input
                return .length(length)
            }
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

extension CipherOperation {
    /// - Throws: `CKR_ENCRYPTED_DATA_LEN_RANGE`.
    mutating func appendCiphertext(_ part: [UInt8]) throws(CryptokiError) {
        do throws(CryptokiError) { try input.append(part) } catch { throw CryptokiError(CKR_ENCRYPTED_DATA_LEN_RANGE) }
    }

    /// - Throws: `CKR_DATA_LEN_RANGE`.
    mutating func appendPlaintext(_ part: borrowing Secret) throws(CryptokiError) {
        let former = plaintext.take() ?? Secret(capacity: 0) { _ in }
        guard former.count + part.count <= scheme.length else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        plaintext = Secret(joining: former.bytes, part.bytes)
    }

    consuming func encrypt() throws(CryptokiError) -> [UInt8] {
        try scheme.encrypt(plaintext ?? Secret(capacity: 0) { _ in })
    }

    /// The plaintext's length once it is known, else the most that it may be.
    var knownLength: Int {
        switch result {
        case .some(let result): result.count
        case .none: scheme.length
        }
    }
}
