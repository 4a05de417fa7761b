internal import HostAPI
internal import PKCS11Mechanisms
package import CCryptoki
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

// Signatures: PKCS #11 §5.13 and §5.14.
extension Cryptoki {
    package func signInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_SIGN)
        if case .hmac? = MechanismTable.use(of: request.type, for: CKF_SIGN) {
            let code = try secretKey(key, in: session, for: CKA_SIGN)
            return try session.state.withLock { state throws(CryptokiError) in
                try Cryptoki.requireNoParts(state.signature?.input.course)
                state.signature = nil
                state.signature = try SignatureOperation(
                    request, code.object, secret: code.bytes, login: session.slot.login)
            }
        }
        let object = try privateKey(key, in: session)
        guard object.mechanisms.canSign else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
        guard let publicKey = object.publicKey else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        try session.state.withLock { state throws(CryptokiError) in
            try Cryptoki.requireNoParts(state.signature?.input.course)
            state.signature = nil
            state.signature = try SignatureOperation(
                request, object, publicKey, login: session.slot.login, handles.quota)
        }
    }

    /// Allows a new operation unless data of the present one has come in parts. An operation that was begun and given up, as
    /// after a failed login, is replaced.
    static func requireNoParts(_ course: OperationCourse?) throws(CryptokiError) {
        guard course != .inParts else { throw CryptokiError(CKR_OPERATION_ACTIVE) }
    }

    package func sign(
        _ handle: CK_SESSION_HANDLE, _ data: [UInt8], _ capacity: OutputCapacity
    ) throws(CryptokiError) -> Output {
        try sign(handle, rest: data, .inOne, capacity)
    }

    package func signUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var operation = state.signature.take() else { throw Cryptoki.notBegun }
            try operation.input.course.goOn(.inParts)
            try operation.input.append(part)
            state.signature = consume operation
        }
    }

    package func signFinal(_ handle: CK_SESSION_HANDLE, _ capacity: OutputCapacity) throws(CryptokiError) -> Output {
        try sign(handle, rest: [], .inParts, capacity)
    }

    private func sign(
        _ handle: CK_SESSION_HANDLE, rest: [UInt8], _ course: OperationCourse, _ capacity: OutputCapacity
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        return try session.state.withLock { state throws(CryptokiError) -> Output in
            guard var operation = state.signature.take() else { throw Cryptoki.notBegun }
            try operation.input.course.goOn(course)
            let length = operation.scheme.length
            guard capacity.holds(length) else {
                state.signature = consume operation
                return .length(length)
            }
            try operation.input.append(rest)
            return .bytes(try Cryptoki.finish(operation, in: session))
        }
    }

    private static func finish(
        _ operation: consuming SignatureOperation, in session: PKCS11Session
    ) throws(CryptokiError) -> [UInt8] {
        var operation = operation
        let (key, scheme) = (operation.key, operation.scheme)
        try session.requireLogin(operation.login, for: key)
        let input = try operation.input.finish()
        switch scheme {
        case .code(let scheme): return Array(input.prefix(scheme.length))
        case .signature(let scheme):
            return try session.perform(
                scheme.use(for: input), with: key, isAuthorized: operation.isAuthorized
            ).copied()
        }
    }

    // MARK: Verifying

    package func verifyInit(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, key: CK_OBJECT_HANDLE
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_VERIFY)
        if case .hmac? = MechanismTable.use(of: request.type, for: CKF_SIGN) {
            let code = try secretKey(key, in: session, for: CKA_VERIFY)
            return try session.state.withLock { state throws(CryptokiError) in
                try Cryptoki.requireNoParts(state.verification?.input.course)
                state.verification = nil
                state.verification = try SignatureOperation(
                    request, code.object, secret: code.bytes, login: session.slot.login)
            }
        }
        let publicKey = try publicKey(key, in: session)
        let object = try handles.entry(key, in: session).object
        try session.state.withLock { state throws(CryptokiError) in
            try Cryptoki.requireNoParts(state.verification?.input.course)
            state.verification = nil
            let operation = try SignatureOperation(
                request, object, publicKey, login: session.slot.login, handles.quota)
            guard object.isTrue(CKA_VERIFY) else { throw CryptokiError(CKR_KEY_FUNCTION_NOT_PERMITTED) }
            state.verification = consume operation
        }
    }

    package func verify(
        _ handle: CK_SESSION_HANDLE, _ data: [UInt8], signature: [UInt8]
    ) throws(CryptokiError) {
        let session = try session(handle)
        try session.state.withLock { state throws(CryptokiError) in
            guard var operation = state.verification.take() else { throw Cryptoki.notBegun }
            try operation.input.course.goOn(.inOne)
            try operation.input.append(data)
            try Cryptoki.check(signature, operation, in: session)
        }
    }

    package func verifyUpdate(_ handle: CK_SESSION_HANDLE, _ part: [UInt8]) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard var operation = state.verification.take() else { throw Cryptoki.notBegun }
            try operation.input.course.goOn(.inParts)
            try operation.input.append(part)
            state.verification = consume operation
        }
    }

    package func verifyFinal(_ handle: CK_SESSION_HANDLE, signature: [UInt8]) throws(CryptokiError) {
        let session = try session(handle)
        try session.state.withLock { state throws(CryptokiError) in
            guard let operation = state.verification.take() else { throw Cryptoki.notBegun }
            try Cryptoki.check(signature, operation, in: session)
        }
    }

    private static func check(
        _ signature: [UInt8], _ operation: consuming SignatureOperation, in session: PKCS11Session
    ) throws(CryptokiError) {
        var operation = operation
        let (key, scheme) = (operation.key, operation.scheme)
        try session.requireLogin(operation.login, for: key)
        try scheme.verify(signature, of: operation.input.finish())
    }

    // MARK: Keys

    static var notBegun: CryptokiError { CryptokiError(CKR_OPERATION_NOT_INITIALIZED) }

    /// - Throws: `CKR_KEY_HANDLE_INVALID`, `CKR_KEY_TYPE_INCONSISTENT` for another kind of object.
    func privateKey(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) throws(CryptokiError) -> CryptokiObject {
        let object = try key(handle, in: session)
        switch object.objectClass {
        case CKO_PRIVATE_KEY: return object
        case CKO_PUBLIC_KEY, CKO_SECRET_KEY: throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT)
        default: throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
    }

    func publicKey(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) throws(CryptokiError) -> PublicKey {
        let object = try key(handle, in: session)
        switch (object.objectClass, object.publicKey) {
        case (CKO_PUBLIC_KEY, let key?): return key
        case (CKO_PRIVATE_KEY, _), (CKO_SECRET_KEY, _): throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT)
        default: throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
    }

    /// A secret key that is to be used, and its bytes.
    struct SecretKeyUse: ~Copyable {
        let object: CryptokiObject
        let bytes: Secret
    }

    /// - Parameter use: the attribute that permits the use; nil for a use that every key permits.
    /// - Throws: `CKR_KEY_HANDLE_INVALID`, `CKR_KEY_TYPE_INCONSISTENT` for another kind of key, `CKR_KEY_FUNCTION_NOT_PERMITTED`.
    func secretKey(
        _ handle: CK_OBJECT_HANDLE, in session: PKCS11Session, for use: CK_ATTRIBUTE_TYPE?
    ) throws(CryptokiError) -> SecretKeyUse {
        let object = try key(handle, in: session)
        switch object.objectClass {
        case CKO_SECRET_KEY: break
        case CKO_PUBLIC_KEY, CKO_PRIVATE_KEY: throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT)
        default: throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
        if let use, !object.isTrue(use) {
            // A use that no key of the kind has is refused otherwise than a use that only this key denies.
            let isOfKind = SecretKeyKind(object.keyType ?? CKK_GENERIC_SECRET).uses.contains { $0.type == use }
            throw CryptokiError(isOfKind ? CKR_KEY_FUNCTION_NOT_PERMITTED : CKR_KEY_TYPE_INCONSISTENT)
        }
        if let own = try handles.keyEntry(handle, in: session).secret {
            return SecretKeyUse(object: object, bytes: own.secret.clone())
        }
        let permission: AccessQuestion.Use =
            switch use {
            // The bytes leave: wrapped, copied or digested.
            case nil: .read
            case CKA_SIGN, CKA_VERIFY: .sign
            default: .decrypt
            }
        return SecretKeyUse(object: object, bytes: try session.slot.keyBytes(of: object, for: permission))
    }
}
