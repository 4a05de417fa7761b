package import CCryptoki
internal import SecureBytes

// Copies of objects: PKCS #11 §5.7.2.
extension Cryptoki {
    /// Makes a copy of an object, with the changes.
    ///
    /// - Throws: `CKR_ACTION_PROHIBITED` for an object that cannot be copied; `CKR_ATTRIBUTE_READ_ONLY` for a change that a copy
    ///   cannot have.
    package func copyObject(
        _ handle: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ changes: Template
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let session = try session(handle, checkingPresence: true)
        let entry = try handles.entry(object, in: session)
        guard entry.object.isTrue(CKA_COPYABLE) else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        var copy = try entry.object.template(changedBy: changes)
        guard try copy.bool(CKA_TOKEN) ?? false else { return try addCopy(of: entry, object, copy, in: session) }
        try requireWritable(session)
        if let key = entry.object.sessionKey {
            guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
            return try self.handle(of: session.slot.create(key, copy), in: session)
        }
        if entry.object.objectClass == CKO_SECRET_KEY { return try addCopy(ofKey: object, copy, in: session) }
        if entry.object.objectClass == CKO_DATA {
            let value = try value(of: entry, in: session)
            copy.append(CKA_VALUE, value.bytes)
        }
        return try self.handle(of: session.slot.create(copy), in: session)
    }

    /// The value of a data object.
    private func value(of entry: HandleTable.Entry, in session: PKCS11Session) throws(CryptokiError) -> Secret {
        if let own = entry.secret { return own.secret.clone() }
        return try session.slot.secretValue(CKA_VALUE, of: entry.object.name)
    }

    private func addCopy(
        ofKey key: CK_OBJECT_HANDLE, _ copy: Template, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        let key = try secretKey(key, in: session, for: nil)
        return try addSecretKey(key.bytes.clone(), copy, in: session, invalid: CKR_TEMPLATE_INCONSISTENT)
    }

    /// Makes a copy that ends with the session.
    private func addCopy(
        of entry: HandleTable.Entry, _ object: CK_OBJECT_HANDLE, _ copy: Template, in session: PKCS11Session
    ) throws(CryptokiError) -> CK_OBJECT_HANDLE {
        if entry.object.objectClass == CKO_SECRET_KEY { return try addCopy(ofKey: object, copy, in: session) }
        if entry.object.objectClass == CKO_DATA {
            return try addData(value(of: entry, in: session), copy, in: session)
        }
        if let key = entry.object.sessionKey { return try addPrivateKey(key, copy, in: session) }
        guard entry.session != nil, let key = entry.object.publicKey else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "only keys and data end with a session")
        }
        return try addPublicKey(key, copy, in: session)
    }
}

extension CryptokiObject {
    /// The attributes of a copy, without empty ones. A key's protection is only ever strengthened.
    fileprivate func template(changedBy changes: Template) throws(CryptokiError) -> Template {
        try TemplateRules.requireOneValueEach(changes)
        for type in changes.types where !has(type) {
            throw CryptokiError(CKR_ATTRIBUTE_TYPE_INVALID, "attribute 0x\(String(type, radix: 16))")
        }
        if let type = changes.secretTypes.first {
            throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "attribute 0x\(String(type, radix: 16))")
        }
        var copy = attributes
        for (type, value) in changes.attributes where attributes[type] != value {
            switch type {
            case CKA_LABEL, CKA_ID, CKA_APPLICATION, CKA_TOKEN: break
            case CKA_SENSITIVE where value == Encoded.bool(true): break
            case CKA_EXTRACTABLE where value == Encoded.bool(false): break
            default: throw CryptokiError(CKR_ATTRIBUTE_READ_ONLY, "attribute 0x\(String(type, radix: 16))")
            }
            copy[type] = value
        }
        return Template(copy.filter { !$0.value.isEmpty }.map { (type: $0.key, value: $0.value) })
    }
}
