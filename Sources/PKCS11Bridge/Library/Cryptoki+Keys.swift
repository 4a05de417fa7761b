internal import PKCS11Mechanisms
package import CCryptoki
internal import SecureBytes
internal import SystemCrypto

// Secret keys: made, wrapped, unwrapped, agreed on. PKCS #11 §5.18.
extension Cryptoki {
    /// Generates a secret key.
    package func generateKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle, checkingPresence: true)
        if try template.bool(CKA_TOKEN) == true { try requireKeeping(session) }
        try session.slot.require(request.type, for: CKF_GENERATE)
        guard case .secretKey(let keyType) = try request.use(for: CKF_GENERATE) else { throw MechanismRequest.unknown }
        let kind = SecretKeyKind(keyType)
        try request.requireNoParameter()
        try TemplateRules.check(template, for: CKO_SECRET_KEY)
        try TemplateRules.checkGenerated(template, CKO_SECRET_KEY, kind.keyType)
        guard let count = try template.ulong(CKA_VALUE_LEN).map({ Int(clamping: $0) }) else {
            throw Template.missing(CKA_VALUE_LEN)
        }
        guard kind.lengths ~= count, kind.hasKeys(of: count) else { throw Template.invalid(CKA_VALUE_LEN) }
        let secret = try CryptokiError.mapping { () throws(CryptoError) in try RandomBytes.makeSecret(count: count) }
        return try addSecretKey(
            secret, template, kind: kind, isGenerated: true, in: session, invalid: CKR_ATTRIBUTE_VALUE_INVALID)
    }

    package func wrapKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, wrapping: CK_OBJECT_HANDLE, key: CK_OBJECT_HANDLE,
        _ capacity: OutputCapacity
    ) throws(CryptokiError) -> Output {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_WRAP)
        let entry = try handles.keyEntry(key, in: session)
        if case .keyWrap? = MechanismTable.use(of: request.type, for: CKF_WRAP) {
            return try wrapKey(entry.object, key, withSecretKey: wrapping, request, capacity, in: session)
        }
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
        try Cryptoki.requireWrappable(entry.object)
        guard capacity.holds(scheme.length) else { return .length(scheme.length) }
        let secret = try secretKey(key, in: session, for: nil)
        return try Cryptoki.renaming([CKR_DATA_LEN_RANGE: CKR_KEY_SIZE_RANGE, CKR_DATA_INVALID: CKR_KEY_SIZE_RANGE]) {
            () throws(CryptokiError) in .bytes(try scheme.encrypt(secret.bytes))
        }
    }

    /// Wraps by AES key wrap: RFC 3394, RFC 5649.
    private func wrapKey(
        _ object: CryptokiObject, _ key: CK_OBJECT_HANDLE, withSecretKey wrapping: CK_OBJECT_HANDLE,
        _ request: MechanismRequest, _ capacity: OutputCapacity, in session: PKCS11Session
    ) throws(CryptokiError) -> Output {
        let wrapper = try Cryptoki.renaming([
            CKR_KEY_HANDLE_INVALID: CKR_WRAPPING_KEY_HANDLE_INVALID,
            CKR_KEY_TYPE_INCONSISTENT: CKR_WRAPPING_KEY_TYPE_INCONSISTENT,
        ]) { () throws(CryptokiError) in try secretKey(wrapping, in: session, for: CKA_WRAP) }
        try request.requireNoParameter()
        try Cryptoki.requireWrappable(object)
        let secret = try secretKey(key, in: session, for: nil)
        let isPadded = try request.use(for: CKF_WRAP) == .keyWrap(isPadded: true)
        guard let length = AESKeyWrap.wrappedLength(of: secret.bytes.count, padded: isPadded) else {
            throw CryptokiError(CKR_KEY_SIZE_RANGE, "whole eights of bytes, 16 at least, are wrapped without padding")
        }
        guard capacity.holds(length) else { return .length(length) }
        do throws(CryptoError) {
            return .bytes(try AESKeyWrap.wrap(secret.bytes, under: wrapper.bytes, padded: isPadded))
        } catch {
            throw CryptokiError(error)
        }
    }

    private static func requireWrappable(_ object: CryptokiObject) throws(CryptokiError) {
        switch object.objectClass {
        case CKO_SECRET_KEY: break
        case CKO_PUBLIC_KEY, CKO_PRIVATE_KEY: throw CryptokiError(CKR_KEY_NOT_WRAPPABLE)
        default: throw CryptokiError(CKR_KEY_HANDLE_INVALID)
        }
        guard object.isTrue(CKA_EXTRACTABLE) else { throw CryptokiError(CKR_KEY_UNEXTRACTABLE) }
    }

    package func unwrapKey(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, unwrapping: CK_OBJECT_HANDLE, _ wrapped: [UInt8],
        _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle)
        try session.slot.require(request.type, for: CKF_UNWRAP)
        if case .keyWrap? = MechanismTable.use(of: request.type, for: CKF_UNWRAP) {
            return try unwrapKey(wrapped, withSecretKey: unwrapping, request, template, in: session)
        }
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
            var use = try scheme.use(for: wrapped)
            use.isUnwrapping = true
            return try session.perform(use, with: object)
        }
        return try addSecretKey(secret, template, in: session, invalid: CKR_WRAPPED_KEY_INVALID)
    }

    private func unwrapKey(
        _ wrapped: [UInt8], withSecretKey unwrapping: CK_OBJECT_HANDLE, _ request: MechanismRequest,
        _ template: Template, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let wrapper = try Cryptoki.renaming([
            CKR_KEY_HANDLE_INVALID: CKR_UNWRAPPING_KEY_HANDLE_INVALID,
            CKR_KEY_TYPE_INCONSISTENT: CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT,
        ]) { () throws(CryptokiError) in try secretKey(unwrapping, in: session, for: CKA_UNWRAP) }
        try request.requireNoParameter()
        try requireSecretKey(template, in: session)
        let isPadded = try request.use(for: CKF_UNWRAP) == .keyWrap(isPadded: true)
        let secret: Secret
        do throws(CryptoError) {
            secret = try AESKeyWrap.unwrap(wrapped, under: wrapper.bytes, padded: isPadded)
        } catch {
            throw CryptokiError(
                error.code == .invalidLength ? CKR_WRAPPED_KEY_LEN_RANGE : CKR_WRAPPED_KEY_INVALID, error.description)
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
        // The data that does not fit the key is the other side's public key, which is in the mechanism's parameter.
        let result = try Cryptoki.renaming([CKR_DATA_INVALID: CKR_MECHANISM_PARAM_INVALID]) {
            () throws(CryptokiError) in try session.perform(scheme.use, with: object)
        }
        return try addSecretKey(
            scheme.keyBytes(from: result, count: count), template, in: session, invalid: CKR_TEMPLATE_INCONSISTENT)
    }

    /// Checks the template of a key to be made before a card is asked.
    private func requireSecretKey(_ template: Template, in session: PKCS11Session) throws(CryptokiError) {
        try TemplateRules.check(template, for: CKO_SECRET_KEY)
        _ = (try template.bool(CKA_SENSITIVE), try template.bool(CKA_EXTRACTABLE), try template.ulong(CKA_VALUE_LEN))
        if let objectClass = try template.ulong(CKA_CLASS), objectClass != CKO_SECRET_KEY {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only secret keys")
        }
        guard !template.types.contains(CKA_VALUE) else { throw TemplateRules.contradiction(CKA_VALUE) }
        if try template.bool(CKA_TOKEN) == true {
            try requireKeeping(session)
            _ = try NewObject.secretKeyKind(template)
        }
        _ = try template.bool(CKA_PRIVATE)
    }

    /// Whether the session may keep a key.
    private func requireKeeping(_ session: PKCS11Session) throws(CryptokiError) {
        try requireWritable(session)
        guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
    }

    /// Runs `body`, and replaces the return values of its failures by those in `names`.
    static func renaming<Result: ~Copyable>(
        _ names: [CK_RV: CK_RV], _ body: () throws(CryptokiError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(CryptokiError) { return try body() } catch {
            throw CryptokiError(names[error.code] ?? error.code, error.reason)
        }
    }
}
