internal import PKCS11Mechanisms
package import CCryptoki
package import SecureBytes
internal import Synchronization
internal import SystemCrypto

// Objects: PKCS #11 §5.7.
extension Cryptoki {
    /// The value of an attribute, or the reason that it has none.
    package enum AttributeResult: ~Copyable {
        case value([UInt8])
        case secret(Secret)
        case refused(CK_RV)
    }

    package func findObjectsInit(_ handle: CK_SESSION_HANDLE, _ template: Template) throws(CryptokiError) {
        let session = try session(handle, checkingPresence: true)
        try meetChanges(in: session)
        let objects = try session.slot.objects(matching: template)
        let found = handles.handles(of: objects, in: session) + handles.sessionObjects(matching: template, in: session)
        // A search that a program left open does not block its next search.
        session.state.withLock { $0.search = found[...] }
    }

    package func findObjects(_ handle: CK_SESSION_HANDLE, limit: Int) throws(CryptokiError) -> [CK_OBJECT_HANDLE] {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard let search = state.search else { throw CryptokiError(CKR_OPERATION_NOT_INITIALIZED) }
            state.search = search.dropFirst(limit)
            return Array(search.prefix(limit))
        }
    }

    package func findObjectsFinal(_ handle: CK_SESSION_HANDLE) throws(CryptokiError) {
        try session(handle).state.withLock { state throws(CryptokiError) in
            guard state.search != nil else { throw CryptokiError(CKR_OPERATION_NOT_INITIALIZED) }
            state.search = nil
        }
    }

    /// The attributes of an object.
    package struct ObjectReader: Sendable {
        let entry: HandleTable.Entry
        let session: CK_SESSION_HANDLE
        let cryptoki: Cryptoki

        package func value(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> AttributeResult {
            if let value = entry.object.attributes[type] { return .value(value) }
            guard entry.object.secret.contains(type) else { return .refused(entry.object.refusal(type)) }
            if let own = entry.secret { return .secret(own.secret.clone()) }
            if let key = entry.object.sessionKey { return .secret(try PrivateNumbers.value(type, of: key)) }
            let slot = try cryptoki.session(session, checkingPresence: true).slot
            return .secret(try slot.secretValue(type, of: entry.object.name))
        }
    }

    package func reader(
        of object: CK_OBJECT_HANDLE, in handle: CK_SESSION_HANDLE
    ) throws(CryptokiError) -> ObjectReader {
        ObjectReader(entry: try currentEntry(object, in: session(handle)), session: handle, cryptoki: self)
    }

    package func objectSize(_ object: CK_OBJECT_HANDLE, in handle: CK_SESSION_HANDLE) throws(CryptokiError) -> Int {
        try currentEntry(object, in: session(handle)).object.size
    }

    /// An object in its present state, which other programs may have changed.
    private func currentEntry(
        _ object: CK_OBJECT_HANDLE, in session: PKCS11Session
    ) throws(CryptokiError) -> HandleTable.Entry {
        if try handles.entry(object, in: session).session == nil { try meetChanges(in: session) }
        return try handles.entry(object, in: session)
    }

    /// A key in its present state. An absent token is reported only when the key is used.
    func key(_ handle: CK_OBJECT_HANDLE, in session: PKCS11Session) throws(CryptokiError) -> CryptokiObject {
        let known: HandleTable.Entry
        do throws(CryptokiError) {
            known = try handles.keyEntry(handle, in: session)
        } catch {
            // The login that showed the key may have ended with its card.
            _ = try self.session(session.handle, checkingPresence: true)
            throw error
        }
        guard known.session == nil, (try? meetChanges(in: session)) ?? false else { return known.object }
        return try handles.keyEntry(handle, in: session).object
    }

    /// Applies the changes of other programs, and drops the objects that they have deleted.
    ///
    /// - Returns: whether the objects were read again.
    @discardableResult
    private func meetChanges(in session: PKCS11Session) throws(CryptokiError) -> Bool {
        guard let version = session.slot.version, let last = handles.lastHandle(behind: version, in: session)
        else { return false }
        let sees = session.slot.isLoggedIn
        let objects = try session.slot.objects(matching: Template())
        handles.update(to: objects, seesPrivate: sees, last: last, version: version, in: session)
        return true
    }

    package func createObject(
        _ handle: CK_SESSION_HANDLE, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle, checkingPresence: true)
        if let objectClass = try template.ulong(CKA_CLASS) { try TemplateRules.check(template, for: objectClass) }
        guard try template.bool(CKA_TOKEN) ?? false else { return try createSessionObject(session, template) }
        try requireWritable(session)
        if session.slot.isCard { return try self.handle(of: session.slot.createOnCard(template), in: session) }
        if try template.ulong(CKA_CLASS) == CKO_SECRET_KEY { return try createSecretKey(session, template) }
        let name = try session.slot.create(template)
        return try self.handle(of: name, in: session)
    }

    private func createSessionObject(
        _ session: PKCS11Session, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        switch try template.ulong(CKA_CLASS) {
        case CKO_PUBLIC_KEY: return try addPublicKey(NewObject.publicKey(from: template), template, in: session)
        case CKO_PRIVATE_KEY: return try addPrivateKey(NewObject.privateKey(from: template), template, in: session)
        case CKO_SECRET_KEY: return try createSecretKey(session, template)
        case CKO_DATA:
            return try addData(template.secret(CKA_VALUE) ?? Secret(capacity: 0) { _ in }, template, in: session)
        case nil: throw CryptokiError(CKR_TEMPLATE_INCOMPLETE)
        default: throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only keys and data end with a session")
        }
    }

    private func createSecretKey(_ session: PKCS11Session, _ template: Template) throws(CryptokiError)
        -> CK_OBJECT_HANDLE
    {
        try addSecretKey(
            template.requiredSecret(CKA_VALUE), template, in: session, invalid: CKR_ATTRIBUTE_VALUE_INVALID)
    }

    /// A data object that ends with its session.
    func addData(
        _ value: consuming Secret, _ template: Template, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        _ = try template.bool(CKA_MODIFIABLE)
        let isPrivate = try isPrivate(template, in: session)
        return try handles.add(
            { .sessionData(template, isPrivate: isPrivate, number: $0) }, secret: SharedSecret(value), in: session)
    }

    /// - Parameter isGenerated: whether it was made just now.
    func addPublicKey(
        _ key: PublicKey, _ template: Template, isGenerated: Bool = false, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let isPrivate = try isPrivate(template, in: session)
        return try handles.add(
            { .sessionPublicKey(key, template, isPrivate: isPrivate, isGenerated: isGenerated, number: $0) },
            secret: nil, in: session)
    }

    func addPrivateKey(
        _ key: PrivateKey, _ template: Template, isGenerated: Bool = false, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let isPrivate = try isPrivate(template, in: session, unlessSaid: session.slot.isLoggedIn)
        let protection = try NewObject.protection(template, key.kind)
        return try handles.add(
            {
                .sessionPrivateKey(
                    key, template, protection, isPrivate: isPrivate, isGenerated: isGenerated, number: $0)
            }, secret: nil, in: session)
    }

    /// Adds a secret key to the token or to the session, as the template's `CKA_TOKEN` says.
    ///
    /// - Parameters:
    ///   - kind: the kind of a template without `CKA_KEY_TYPE`; nil for a generic secret.
    ///   - isGenerated: whether it was made just now.
    ///   - invalid: the return value for a length that keys of the kind cannot have.
    func addSecretKey(
        _ secret: consuming Secret, _ template: Template, kind: SecretKeyKind? = nil, isGenerated: Bool = false,
        in session: PKCS11Session, invalid: CK_RV
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        var template = template
        if let kind, template[CKA_KEY_TYPE] == nil {
            template.append(CKA_KEY_TYPE, Encoded.ulong(kind.keyType).span)
        }
        if let length = try template.ulong(CKA_VALUE_LEN), length != CK_ULONG(secret.count) {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT)
        }
        let count = secret.count
        let kind = SecretKeyKind(try template.ulong(CKA_KEY_TYPE) ?? CKK_GENERIC_SECRET)
        guard kind.hasKeys(of: count) else { throw CryptokiError(invalid, "no key of the kind has \(count) bytes") }
        for (use, _) in kind.uses { _ = try template.bool(use) }
        if try template.bool(CKA_TOKEN) == true {
            guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
            return try self.handle(of: session.slot.create(secret, template, isGenerated: isGenerated), in: session)
        }
        let isPrivate = try isPrivate(template, in: session)
        let protection = try KeyProtection(ofSecretKey: template, isGenerated: isGenerated)
        return try handles.add(
            {
                .sessionSecretKey(
                    kind, byteCount: count, protection, template, isPrivate: isPrivate, isGenerated: isGenerated,
                    number: $0)
            },
            secret: SharedSecret(secret), in: session)
    }

    /// Whether an object that ends with its session ends with the login as well.
    ///
    /// - Throws: `CKR_USER_NOT_LOGGED_IN`.
    private func isPrivate(
        _ template: Template, in session: PKCS11Session, unlessSaid: Bool = false
    ) throws(CryptokiError) -> Bool {
        let isPrivate = try template.bool(CKA_PRIVATE) ?? unlessSaid
        guard !isPrivate || session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        return isPrivate
    }

    package func destroyObject(_ handle: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) throws(CryptokiError) {
        let session = try session(handle)
        let entry = try handles.entry(object, in: session)
        if entry.session == nil {
            try requireWritable(session)
            if session.slot.isCard {
                try session.slot.destroyOnCard(entry.object.name)
            } else {
                try session.slot.destroy(entry.object.name)
            }
        }
        handles.remove(object)
    }

    package func setAttributes(
        _ handle: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, to template: Template
    ) throws(CryptokiError) {
        let session = try session(handle)
        let entry = try handles.entry(object, in: session)
        if entry.session == nil {
            try requireWritable(session)
        } else if !entry.object.isTrue(CKA_MODIFIABLE) {
            throw CryptokiError(CKR_ACTION_PROHIBITED)
        }
        guard !template.types.isEmpty else { throw CryptokiError(CKR_ARGUMENTS_BAD) }
        try TemplateRules.requireOneValueEach(template)
        for type in template.types where !entry.object.has(type) {
            throw CryptokiError(CKR_ATTRIBUTE_TYPE_INVALID, "attribute 0x\(String(type, radix: 16))")
        }
        guard entry.session == nil else { return try change(object, entry.object, to: template) }
        guard !session.slot.isCard else {
            return try session.slot.changeOnCard(entry.object, to: template)
        }
        try session.slot.change(entry.object.name, to: template)
        _ = try self.handle(of: entry.object.name, in: session)
        guard template[CKA_ID] != nil else { return }
        // The change also applies to the key's other half and to its certificate.
        _ = handles.handles(of: try session.slot.objects(matching: Template()), in: session)
    }

    /// Changes the attributes and the value of a session's data object.
    private func change(
        _ handle: CK_OBJECT_HANDLE, _ object: CryptokiObject, to template: Template
    ) throws(CryptokiError) {
        let changeable = [CKA_LABEL, CKA_APPLICATION, CKA_OBJECT_ID, CKA_VALUE]
        if let type = template.types.first(where: { !changeable.contains($0) }) {
            throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "attribute 0x\(String(type, radix: 16))")
        }
        var value: SharedSecret?
        if let secret = template.secret(CKA_VALUE) { value = SharedSecret(secret) }
        try handles.change(handle, to: object.changed(to: template), value)
    }

    package func generateKeyPair(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, _ publicTemplate: Template,
        _ privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        let session = try session(handle, checkingPresence: true)
        let isKept = try privateTemplate.bool(CKA_TOKEN) ?? false
        if isKept {
            try requireWritable(session)
            guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        }
        guard
            let mechanism = session.slot.mechanisms.first(where: {
                $0.type == request.type && $0.flags & CKF_GENERATE_KEY_PAIR != 0
            })
        else {
            throw MechanismRequest.unknown
        }
        try TemplateRules.check(publicTemplate, for: CKO_PUBLIC_KEY)
        try TemplateRules.check(privateTemplate, for: CKO_PRIVATE_KEY)
        let kind = try Cryptoki.kind(request, publicTemplate)
        try TemplateRules.checkGenerated(publicTemplate, CKO_PUBLIC_KEY, kind.keyType)
        try TemplateRules.checkGenerated(privateTemplate, CKO_PRIVATE_KEY, kind.keyType)
        if case .rsa(let bits) = kind, mechanism.keySizes?.contains(bits) == false {
            throw Template.invalid(CKA_MODULUS_BITS)
        }
        guard isKept else { return try generateForSession(kind, publicTemplate, privateTemplate, in: session) }
        if session.slot.isCard {
            let pair = try session.slot.generateOnCard(
                kind, publicTemplate: publicTemplate, privateTemplate: privateTemplate)
            return (try self.handle(of: pair.publicKey, in: session), try self.handle(of: pair.privateKey, in: session))
        }
        let pair = try session.slot.generateKeyPair(
            kind, publicTemplate: publicTemplate, privateTemplate: privateTemplate)
        return (try self.handle(of: pair.publicKey, in: session), try self.handle(of: pair.privateKey, in: session))
    }

    /// A key pair that ends with the session, as Java generates one for a connection.
    private func generateForSession(
        _ kind: KeyKind, _ publicTemplate: Template, _ privateTemplate: Template, in session: PKCS11Session
    ) throws(CryptokiError) -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        guard try publicTemplate.bool(CKA_TOKEN) != true else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a public key is kept with its private half")
        }
        // The templates are checked before either half is made.
        _ = try isPrivate(publicTemplate, in: session)
        _ = try isPrivate(privateTemplate, in: session)
        _ = try NewObject.protection(privateTemplate, kind)
        let key = try CryptokiError.mapping { () throws(CryptoError) in try PrivateKey.generate(kind) }
        return (
            try addPublicKey(key.publicKey, publicTemplate, isGenerated: true, in: session),
            try addPrivateKey(key, privateTemplate, isGenerated: true, in: session)
        )
    }

    private static func kind(_ request: MechanismRequest, _ template: Template) throws(CryptokiError) -> KeyKind {
        try request.requireNoParameter()
        guard case .keyPair(let keyType) = try request.use(for: CKF_GENERATE_KEY_PAIR) else {
            throw MechanismRequest.unknown
        }
        guard keyType != CKK_RSA else {
            guard let bits = try template.ulong(CKA_MODULUS_BITS) else { throw CryptokiError(CKR_TEMPLATE_INCOMPLETE) }
            let exponent = template[CKA_PUBLIC_EXPONENT].map { Array($0.drop { $0 == 0 }) }
            guard exponent == nil || exponent == [1, 0, 1] else { throw Template.invalid(CKA_PUBLIC_EXPONENT) }
            return .rsa(bits: Int(clamping: bits))
        }
        let kind = try KeyKind.named(by: template.required(CKA_EC_PARAMS))
        guard kind.keyType == keyType else { throw CryptokiError(CKR_CURVE_NOT_SUPPORTED) }
        return kind
    }

    func requireWritable(_ session: PKCS11Session) throws(CryptokiError) {
        // A card refuses the user's writes in any session, so that this error comes first.
        guard !session.slot.promptPolicy.isRemote else {
            throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED, Cryptoki.onlyHere)
        }
        if session.slot.isCard, !session.slot.changesCard { throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED) }
        guard session.isWritable else { throw CryptokiError(CKR_SESSION_READ_ONLY) }
    }

    func handle(of name: ObjectName, in session: PKCS11Session) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        guard let object = try session.slot.object(name) else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        return try self.handle(of: object, in: session)
    }

    private func handle(of object: CryptokiObject, in session: PKCS11Session) throws(CryptokiError) -> CK_OBJECT_HANDLE
    {
        guard let handle = handles.handles(of: [object], in: session).first else {
            throw CryptokiError(CKR_GENERAL_ERROR, "an object without a handle")
        }
        return handle
    }
}
