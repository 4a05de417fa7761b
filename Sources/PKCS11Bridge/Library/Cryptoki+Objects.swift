package import CCryptoki
internal import Synchronization
internal import SystemCrypto
package import TokenKit

// Objects: PKCS #11 §5.7.
extension Cryptoki {
    /// The value of an attribute, or why it has none.
    package enum AttributeResult: ~Copyable {
        case value([UInt8])
        case secret(Secret)
        case refused(CK_RV)
    }

    package func findObjectsInit(_ handle: CK_SESSION_HANDLE, _ template: Template) throws(CryptokiError) {
        let session = try session(handle, meetingCard: true)
        let objects = try session.slot.objects(matching: template)
        let found = handles.handles(of: objects, in: session) + handles.sessionObjects(matching: template, in: session)
        // A search that a program left open does not keep it from the next.
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

    /// What an object tells of itself.
    package struct ObjectReader: Sendable {
        let entry: HandleTable.Entry
        let session: CK_SESSION_HANDLE
        let cryptoki: Cryptoki

        package func value(_ type: CK_ATTRIBUTE_TYPE) throws(CryptokiError) -> AttributeResult {
            if let value = entry.object.attributes[type] { return .value(value) }
            guard entry.object.secret.contains(type) else { return .refused(entry.object.refusal(type)) }
            if let secret = entry.secret { return .secret(secret.clone()) }
            return .secret(try cryptoki.session(session, meetingCard: true).slot.secretValue(of: entry.object.name))
        }
    }

    package func reader(
        of object: CK_OBJECT_HANDLE, in handle: CK_SESSION_HANDLE
    ) throws(CryptokiError) -> ObjectReader {
        ObjectReader(entry: try handles.entry(object, in: session(handle)), session: handle, cryptoki: self)
    }

    package func objectSize(_ object: CK_OBJECT_HANDLE, in handle: CK_SESSION_HANDLE) throws(CryptokiError) -> Int {
        try handles.entry(object, in: session(handle)).object.size
    }

    package func createObject(
        _ handle: CK_SESSION_HANDLE, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle, meetingCard: true)
        if let objectClass = try template.ulong(CKA_CLASS) { try TemplateRules.check(template, for: objectClass) }
        guard try template.bool(CKA_TOKEN) ?? false else { return try createSessionObject(session, template) }
        try requireWritable(session)
        let name = try session.slot.create(template)
        return try self.handle(of: name, in: session)
    }

    private func createSessionObject(
        _ session: Session, _ template: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        switch try template.ulong(CKA_CLASS) {
        case CKO_PUBLIC_KEY:
            let key = try NewObject.publicKey(from: template)
            return handles.add({ .sessionPublicKey(key, template, number: $0) }, secret: nil, in: session)
        case CKO_SECRET_KEY:
            var value = try template.required(CKA_VALUE)
            return try addSecretKey(Secret(consuming: &value), template, in: session)
        case nil: throw CryptokiError(CKR_TEMPLATE_INCOMPLETE)
        default: throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only public and secret keys end with a session")
        }
    }

    func addSecretKey(
        _ secret: consuming Secret, _ template: Template, in session: Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        if let length = try template.ulong(CKA_VALUE_LEN), length != CK_ULONG(secret.count) {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT)
        }
        let count = secret.count
        let (isSensitive, isExtractable) = (try template.bool(CKA_SENSITIVE), try template.bool(CKA_EXTRACTABLE))
        let isReadable = isSensitive != true && isExtractable != false
        return handles.add(
            { .sessionSecretKey(byteCount: count, isReadable: isReadable, template, number: $0) },
            secret: SessionSecret(secret), in: session)
    }

    package func destroyObject(_ handle: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) throws(CryptokiError) {
        let session = try session(handle)
        let entry = try handles.entry(object, in: session)
        if entry.session == nil {
            try requireWritable(session)
            try session.slot.destroy(entry.object.name)
        }
        handles.remove(object)
    }

    package func setAttributes(
        _ handle: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, to template: Template
    ) throws(CryptokiError) {
        let session = try session(handle)
        let entry = try handles.entry(object, in: session)
        guard entry.session == nil else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        try requireWritable(session)
        guard !template.attributes.isEmpty else { throw CryptokiError(CKR_ARGUMENTS_BAD) }
        try TemplateRules.requireOneValueEach(template)
        for (type, _) in template.attributes where !entry.object.has(type) {
            throw CryptokiError(CKR_ATTRIBUTE_TYPE_INVALID, "attribute 0x\(String(type, radix: 16))")
        }
        try session.slot.change(entry.object.name, to: template)
        _ = try self.handle(of: entry.object.name, in: session)
    }

    package func generateKeyPair(
        _ handle: CK_SESSION_HANDLE, _ request: MechanismRequest, _ publicTemplate: Template,
        _ privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: CK_OBJECT_HANDLE, privateKey: CK_OBJECT_HANDLE) {
        let session = try session(handle, meetingCard: true)
        try requireWritable(session)
        guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        try TemplateRules.check(publicTemplate, for: CKO_PUBLIC_KEY)
        try TemplateRules.check(privateTemplate, for: CKO_PRIVATE_KEY)
        let kind = try Cryptoki.kind(request, publicTemplate)
        let pair = try session.slot.generateKeyPair(
            kind, publicTemplate: publicTemplate, privateTemplate: privateTemplate)
        return (try self.handle(of: pair.publicKey, in: session), try self.handle(of: pair.privateKey, in: session))
    }

    private static func kind(_ request: MechanismRequest, _ template: Template) throws(CryptokiError) -> KeyKind {
        try request.requireNoParameter()
        switch request.type {
        case CKM_RSA_PKCS_KEY_PAIR_GEN:
            guard let bits = try template.ulong(CKA_MODULUS_BITS) else { throw CryptokiError(CKR_TEMPLATE_INCOMPLETE) }
            let exponent = template[CKA_PUBLIC_EXPONENT].map { Array($0.drop { $0 == 0 }) }
            guard exponent == nil || exponent == [1, 0, 1] else { throw Template.invalid(CKA_PUBLIC_EXPONENT) }
            return .rsa(bits: Int(clamping: bits))
        case CKM_EC_KEY_PAIR_GEN, CKM_EC_EDWARDS_KEY_PAIR_GEN, CKM_EC_MONTGOMERY_KEY_PAIR_GEN:
            return try KeyKind.named(by: template.required(CKA_EC_PARAMS))
        default: throw CryptokiError(CKR_MECHANISM_INVALID)
        }
    }

    func requireWritable(_ session: Session) throws(CryptokiError) {
        // What a card would refuse in any session it refuses first.
        if session.slot is CardSlot { throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED) }
        guard session.isWritable else { throw CryptokiError(CKR_SESSION_READ_ONLY) }
    }

    func handle(of name: ObjectName, in session: Session) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        guard let object = try session.slot.object(name) else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        guard let handle = handles.handles(of: [object], in: session).first else {
            throw CryptokiError(CKR_GENERAL_ERROR)
        }
        return handle
    }
}

extension CryptokiObject {
    /// A public key that a program brought.
    static func sessionPublicKey(_ key: PublicKey, _ template: Template, number: Int) -> CryptokiObject {
        var attributes = ObjectAttributes.publicKey(key, id: template[CKA_ID] ?? [], subject: [], isLocal: false)
        // A program may renounce what the key could do.
        for use in [CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP] where template[use] == Encoded.bool(false) {
            attributes[use] = Encoded.bool(false)
        }
        attributes.merge(session(CKO_PUBLIC_KEY, template, number)) { $1 }
        return CryptokiObject(.session(number), attributes, publicKey: key)
    }

    /// A secret key that was agreed on, unwrapped or brought.
    static func sessionSecretKey(
        byteCount: Int, isReadable: Bool, _ template: Template, number: Int
    ) -> CryptokiObject {
        var attributes = session(CKO_SECRET_KEY, template, number)
        attributes.merge([
            CKA_KEY_TYPE: template[CKA_KEY_TYPE] ?? Encoded.ulong(CKK_GENERIC_SECRET),
            CKA_ID: template[CKA_ID] ?? [], CKA_VALUE_LEN: Encoded.ulong(CK_ULONG(byteCount)),
            CKA_SENSITIVE: Encoded.bool(!isReadable), CKA_EXTRACTABLE: Encoded.bool(isReadable),
            CKA_ALWAYS_SENSITIVE: Encoded.bool(false), CKA_NEVER_EXTRACTABLE: Encoded.bool(false),
            CKA_LOCAL: Encoded.bool(false), CKA_DERIVE: Encoded.bool(false),
        ]) { $1 }
        return CryptokiObject(
            .session(number), attributes, sensitive: isReadable ? [] : [CKA_VALUE],
            secret: isReadable ? [CKA_VALUE] : [])
    }

    private static func session(
        _ objectClass: CK_OBJECT_CLASS, _ template: Template, _ number: Int
    ) -> ObjectAttributes.Attributes {
        var attributes = ObjectAttributes.storage(
            objectClass, label: "", uniqueID: "session/\(number)", isPrivate: false, isModifiable: true)
        attributes[CKA_TOKEN] = Encoded.bool(false)
        attributes[CKA_MODIFIABLE] = Encoded.bool(false)
        attributes[CKA_COPYABLE] = Encoded.bool(true)
        attributes[CKA_LABEL] = template[CKA_LABEL] ?? []
        return attributes
    }
}
