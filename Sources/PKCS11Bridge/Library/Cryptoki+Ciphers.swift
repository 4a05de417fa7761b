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
        let publicKey = try publicKey(key, in: session)
        let object = try handles.entry(key, in: session).object
        try session.state.withLock { state throws(CryptokiError) in
            guard state.encryption?.input.hasBegun != true else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.encryption = nil
            state.encryption = try CipherOperation(request, object, publicKey)
        }
    }

    package func encrypt(
        _ handle: CK_SESSION_HANDLE, _ data: consuming Secret, _ room: Room
    ) throws(CryptokiError) -> Output {
        let plaintext = data
        let session = try session(handle)
        guard let scheme = session.state.withLock({ $0.encryption?.scheme }) else { throw Cryptoki.notBegun }
        guard room.holds(scheme.length) else { return .length(scheme.length) }
        session.state.withLock { $0.encryption = nil }
        return .bytes(try scheme.encrypt(plaintext))
    }

    package func encryptUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            try operation.input.append(part)
            state.encryption = consume operation
        }
    }

    package func encryptFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard let length = state.encryption?.scheme.length else { throw Cryptoki.notBegun }
            guard room.holds(length) else { return .length(length) }
            guard var operation = state.encryption.take() else { throw Cryptoki.notBegun }
            let scheme = operation.scheme
            var plaintext = try operation.input.finish()
            return .bytes(try scheme.encrypt(Secret(consuming: &plaintext)))
        }
    }

    // MARK: Decrypting

    package func decryptInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        let object = try privateKey(key, in: session)
        guard object.mechanisms.canDecrypt else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        try session.state.withLock { state throws(CryptokiError) in
            guard state.decryption?.input.hasBegun != true else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.decryption = nil
            state.decryption = try CipherOperation(request, object, publicKey)
        }
    }

    package func decrypt(
        _ handle: CK_SESSION_HANDLE, _ ciphertext: [UInt8], _ room: Room
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            if case .query = room {
                let length = operation.knownLength
                state.decryption = consume operation
                return .length(length)
            }
            if operation.result == nil {
                operation.result = try Cryptoki.open(&operation, ciphertext, in: session)
            }
            return Cryptoki.give(operation, room, &state)
        }
    }

    package func decryptUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            try operation.input.append(part)
            state.decryption = consume operation
        }
    }

    package func decryptFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.decryption.take() else { throw Cryptoki.notBegun }
            if case .query = room {
                let length = operation.knownLength
                state.decryption = consume operation
                return .length(length)
            }
            if operation.result == nil { operation.result = try Cryptoki.open(&operation, [], in: session) }
            return Cryptoki.give(operation, room, &state)
        }
    }

    private static func open(
        _ operation: inout CipherOperation, _ ciphertext: [UInt8], in session: Session
    ) throws(CryptokiError) -> Secret {
        try operation.input.append(ciphertext)
        let whole = try operation.input.taken()
        let pin = operation.pin.take()
        let result = try session.slot.perform(
            operation.scheme.action(for: whole), with: operation.key.name, pin: pin)
        return try operation.scheme.plaintext(from: result)
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
        let entry = try handles.entry(key, in: session, invalid: CKR_KEY_HANDLE_INVALID)
        let publicKey: PublicKey
        do throws(CryptokiError) { publicKey = try self.publicKey(wrapping, in: session) } catch {
            let code =
                error.code == CKR_KEY_HANDLE_INVALID
                ? CKR_WRAPPING_KEY_HANDLE_INVALID : CKR_WRAPPING_KEY_TYPE_INCONSISTENT
            throw CryptokiError(code)
        }
        let scheme = try EncryptionScheme(request, key: publicKey)
        guard let secret = entry.secret else { throw CryptokiError(CKR_KEY_NOT_WRAPPABLE) }
        guard entry.object.isTrue(CKA_EXTRACTABLE) else { throw CryptokiError(CKR_KEY_UNEXTRACTABLE) }
        guard room.holds(scheme.length) else { return .length(scheme.length) }
        return .bytes(try scheme.encrypt(secret.clone()))
    }

    package func unwrapKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, unwrapping: CK_OBJECT_HANDLE, _ wrapped: [UInt8],
        _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle)
        let object: CryptokiObject
        do throws(CryptokiError) { object = try privateKey(unwrapping, in: session) } catch {
            let code =
                error.code == CKR_KEY_HANDLE_INVALID
                ? CKR_UNWRAPPING_KEY_HANDLE_INVALID : CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT
            throw CryptokiError(code)
        }
        guard object.mechanisms.canDecrypt, let publicKey = object.publicKey else {
            throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED)
        }
        try Cryptoki.requireSecretKey(template)
        let scheme = try EncryptionScheme(request, key: publicKey)
        guard wrapped.count == scheme.length else { throw CryptokiError(CKR_WRAPPED_KEY_LEN_RANGE) }
        let result = try session.slot.perform(scheme.action(for: wrapped), with: object.name, pin: nil)
        return try addSecretKey(scheme.plaintext(from: result), template, in: session)
    }

    package func deriveKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, base: CK_OBJECT_HANDLE, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle)
        let object = try privateKey(base, in: session)
        guard object.mechanisms.canDerive, let publicKey = object.publicKey else {
            throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED)
        }
        try Cryptoki.requireSecretKey(template)
        let scheme = try AgreementScheme(request, key: publicKey)
        let count = try template.ulong(CKA_VALUE_LEN).map { Int(clamping: $0) }
        let result = try session.slot.perform(scheme.action, with: object.name, pin: nil)
        return try addSecretKey(scheme.keyBytes(from: result, count: count), template, in: session)
    }

    /// Keys that come of others last as long as their session.
    private static func requireSecretKey(_ template: Template) throws(CryptokiError) {
        if let objectClass = try template.ulong(CKA_CLASS), objectClass != CKO_SECRET_KEY {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only secret keys")
        }
        if try template.bool(CKA_TOKEN) == true {
            throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED, "secret keys end with their session")
        }
    }

    // MARK: Digests

    package func digestInit(_ handle: CK_SESSION_HANDLE, _ request: MechanismRequest) throws(CryptokiError) {
        let session = try session(handle)
        guard let algorithm = DigestAlgorithm(mechanism: request.type) else { throw MechanismRequest.unknown }
        try request.requireNoParameter()
        try session.state.withLock { state throws(CryptokiError) in
            guard state.digest?.hasBegun != true else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
            state.digest = nil
            state.digest = try Input(algorithm, limit: 0)
        }
    }

    package func digest(
        _ handle: CK_SESSION_HANDLE, _ data: [UInt8], _ room: Room
    ) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard let length = state.digest?.digestLength else { throw Cryptoki.notBegun }
            guard room.holds(length) else { return .length(length) }
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            guard !input.hasBegun else { throw CryptokiError(CKR_OPERATION_ACTIVE, "it was begun in parts") }
            try input.append(data)
            return .bytes(try input.finish())
        }
    }

    package func digestUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
            try input.append(part)
            state.digest = consume input
        }
    }

    package func digestFinal(_ handle: CK_SESSION_HANDLE, _ room: Room) throws(CryptokiError) -> Output {
        try session(handle).state.withLock { state throws(CryptokiError) -> Output in
            guard let length = state.digest?.digestLength else { throw Cryptoki.notBegun }
            guard room.holds(length) else { return .length(length) }
            guard var input = state.digest.take() else { throw Cryptoki.notBegun }
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
    /// The plaintext's length once it is known, else the most that it may be.
    var knownLength: Int {
        switch result {
        case .some(let result): result.count
        case .none: scheme.length
        }
    }
}
