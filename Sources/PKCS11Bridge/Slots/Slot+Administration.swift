internal import CCryptoki
internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

// A card in the hands of its security officer, whom PIV calls the card's administrator, or of a user who is that too.
extension Slot {
    /// - Parameter key: the management key in hexadecimal digits, or the PIN where the card keeps the key; nil where the host is to ask.
    func logInAsSecurityOfficer(_ key: consuming Secret?) throws(CryptokiError) {
        var given: SharedSecret?
        if let key = key.take() { given = SharedSecret(key) }
        let context = context(to: "administer the card", asks: given == nil)
        let names: [CK_RV: CK_RV] = [
            CKR_USER_NOT_LOGGED_IN: CKR_PIN_INCORRECT, CKR_KEY_FUNCTION_NOT_PERMITTED: CKR_USER_TYPE_INVALID,
        ]
        try Cryptoki.renaming(names) { () throws(CryptokiError) in
            try CryptokiError.inSession { () throws(KeychainError) in
                try service.logInAsAdministrator(to: name, given, context)
            }
        }
    }

    /// Sets a new PIN by the unblocking key, which the host asks for.
    ///
    /// - Parameter new: nil where the host is to ask for it too.
    func initializePIN(to new: consuming Secret?) throws(CryptokiError) {
        var given: SharedSecret?
        if let new = new.take() { given = SharedSecret(new) }
        let context = context(to: "set a new PIN", asks: true)
        try CryptokiError.inSession { () throws(KeychainError) in
            try service.initializePIN(of: name, to: given, context)
        }
    }

    /// - Parameter old: the management key that the security officer logged in with.
    func setManagementKey(from old: consuming Secret?, to new: consuming Secret?) throws(CryptokiError) {
        guard let old = old.take(), let digits = new.take() else {
            throw CryptokiError(CKR_ARGUMENTS_BAD, "a management key is missing: nobody is asked for a new one here")
        }
        let (oldKey, newKey) = (SharedSecret(old), SharedSecret(digits))
        try CryptokiError.inSession { () throws(KeychainError) in
            try service.changeManagementKey(of: name, from: oldKey, to: newKey, context())
        }
    }

    // MARK: Objects

    /// Puts an object on the card: a certificate into the slot of its key, a private key into a slot without one, or the content of a data
    /// object.
    func createOnCard(_ template: Template) throws(CryptokiError) -> CryptokiObject {
        switch try template.ulong(CKA_CLASS) {
        case CKO_CERTIFICATE:
            let certificate = try NewObject.certificate(in: template)
            let place = if let named = try place(of: template) { named } else { try place(ofKeyOf: certificate) }
            _ = try administer(.setCertificate(slot: place.slot, certificate.der))
            return try object(CKO_CERTIFICATE, in: place)
        case CKO_PRIVATE_KEY:
            let key = try NewObject.privateKey(from: template)
            try requireProtection(template, key.kind)
            let place = if let named = try place(of: template) { named } else { try freePlace(template, key.kind) }
            let encoded = try CryptokiError.mapping { () throws(CryptoError) in SharedSecret(try key.pkcs8()) }
            _ = try administer(
                .importKey(slot: place.slot, encoded, policies(in: template), replacing: .none))
            return try object(CKO_PRIVATE_KEY, in: place)
        case CKO_PUBLIC_KEY: return try publicHalf(NewObject.publicKey(from: template).keyHash)
        case CKO_DATA: return try createData(template)
        case nil: throw Template.missing(CKA_CLASS)
        default: throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a card keeps certificates, private keys and data")
        }
    }

    /// The public key of a private key that the card has. A card has no other public keys.
    private func publicHalf(_ hash: [UInt8]) throws(CryptokiError) -> CryptokiObject {
        let keys = try objects(matching: Template([(CKA_CLASS, Encoded.ulong(CKO_PUBLIC_KEY))]))
        guard let key = keys.first(where: { $0.publicKeyHash == hash }) else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a card keeps a public key with its private half alone")
        }
        return key
    }

    private func createData(_ template: Template) throws(CryptokiError) -> CryptokiObject {
        let named = [CKA_LABEL, CKA_OBJECT_ID].compactMap { type in
            template[type].flatMap { $0.isEmpty ? nil : (type, $0) }
        }
        let data = (CKA_CLASS, Encoded.ulong(CKO_DATA))
        let possible = try possibleData(Template([data] + named))
        guard let object = possible.first, possible.count == 1 else {
            throw CryptokiError(
                CKR_TEMPLATE_INCONSISTENT,
                "the label, or the object identifier, is to be that of a data object of the card's standard")
        }
        try setData(object.name, template)
        return object
    }

    private func setData(_ object: ObjectName, _ template: Template) throws(CryptokiError) {
        let value = try template.requiredSecret(CKA_VALUE)
        _ = try administer(.setData(slotName(object), value.bytes.indices.map { value.bytes[$0] }))
    }

    func destroyOnCard(_ object: ObjectName) throws(CryptokiError) {
        guard case .item(let objectClass, _, _) = object else { throw CryptokiError(CKR_ACTION_PROHIBITED) }
        let slot = try slotName(object)
        // There is no template with a value that could be invalid.
        try Cryptoki.renaming([CKR_ATTRIBUTE_VALUE_INVALID: CKR_ACTION_PROHIBITED]) { () throws(CryptokiError) in
            switch objectClass {
            case CKO_CERTIFICATE: _ = try administer(.setCertificate(slot: slot, nil))
            case CKO_PRIVATE_KEY: _ = try administer(.deleteKey(slot: slot, replacing: .ordinary))
            case CKO_DATA: _ = try administer(.setData(slot, nil))
            default: throw CryptokiError(CKR_ACTION_PROHIBITED, "a public key goes with its private half")
            }
        }
    }

    /// Changes the content of a certificate or of data, or moves a key to another slot by its id.
    func changeOnCard(_ object: CryptokiObject, to template: Template) throws(CryptokiError) {
        let isKey = [CKO_PUBLIC_KEY, CKO_PRIVATE_KEY].contains(object.objectClass)
        // NSS sets the subject of keys to that of the next certificate, and the id of a new key to a hash of it. The certificate determines
        // the one here, and the slot the other.
        let namesSlot = if isKey, template[CKA_ID] != nil { try place(of: template) != nil } else { true }
        let changed = template.types.filter { type in
            !(type == CKA_SUBJECT && isKey) && !(type == CKA_ID && !namesSlot)
                && (type == CKA_VALUE || template[type] != object.attributes[type])
        }
        guard let type = changed.first else { return }
        switch (type, object.objectClass) {
        case _ where changed.count > 1:
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "a card is changed one attribute at a time")
        case (CKA_VALUE, CKO_DATA): try setData(object.name, template)
        case (CKA_VALUE, CKO_CERTIFICATE):
            let certificate = try NewObject.certificate(in: template)
            _ = try administer(.setCertificate(slot: slotName(object.name), certificate.der))
        case (CKA_ID, CKO_PRIVATE_KEY):
            guard let place = try place(of: template) else { throw Template.invalid(CKA_ID) }
            _ = try administer(.moveKey(slot: slotName(object.name), to: place.slot))
        default:
            throw CryptokiError(
                CKR_ATTRIBUTE_READ_ONLY, "attribute 0x\(String(type, radix: 16)) follows from the slot and its content")
        }
    }

    // MARK: Keys

    func generateOnCard(
        _ kind: KeyKind, publicTemplate: Template, privateTemplate: Template
    ) throws(CryptokiError) -> (publicKey: CryptokiObject, privateKey: CryptokiObject) {
        try requireProtection(privateTemplate, kind)
        let (own, other) = (try place(of: privateTemplate), try place(of: publicTemplate))
        let place = if let named = own ?? other { named } else { try freePlace(privateTemplate, kind) }
        _ = try administer(
            .generateKey(slot: place.slot, kind, policies(in: privateTemplate), replacing: .none))
        return (try object(CKO_PUBLIC_KEY, in: place), try object(CKO_PRIVATE_KEY, in: place))
    }

    /// Refuses a template that asks for protection which keys of cards do not have.
    private func requireProtection(_ template: Template, _ kind: KeyKind) throws(CryptokiError) {
        guard try template.bool(CKA_EXTRACTABLE) != true else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "no key leaves a card")
        }
        _ = try NewObject.protection(template.without(CKA_ALWAYS_AUTHENTICATE), kind)
    }

    /// The policies in a private key's template: `CKA_ALWAYS_AUTHENTICATE`, and the attributes that ykcs11 has for them.
    private func policies(in template: Template) throws(CryptokiError) -> KeyPolicies {
        var policies = KeyPolicies()
        if try template.bool(CKA_ALWAYS_AUTHENTICATE) == true { policies.pin = .always }
        switch try number(VendorAttribute.pinPolicy, in: template) {
        case 0: break
        case 1: policies.pin = .never
        case 2: policies.pin = .once
        case 3: policies.pin = .always
        default: throw Template.invalid(VendorAttribute.pinPolicy)
        }
        switch try number(VendorAttribute.touchPolicy, in: template) {
        case 0: break
        case 1: policies.touch = .never
        case 2: policies.touch = .always
        case 3: policies.touch = .cached
        default: throw Template.invalid(VendorAttribute.touchPolicy)
        }
        return policies
    }

    /// A number that programs give as one byte or as a `CK_ULONG`; 0 where it is missing.
    private func number(_ type: CK_ATTRIBUTE_TYPE, in template: Template) throws(CryptokiError) -> CK_ULONG {
        guard let value = template[type] else { return 0 }
        return value.count == 1 ? CK_ULONG(value[0]) : try template.ulong(type) ?? 0
    }

    private enum VendorAttribute {
        static let touchPolicy: CK_ATTRIBUTE_TYPE = 0xD955_4201
        static let pinPolicy: CK_ATTRIBUTE_TYPE = 0xD955_4202
    }

    // MARK: Places

    /// The place that a template names by `CKA_ID`; nil where it names none.
    private func place(of template: Template) throws(CryptokiError) -> AdministeredKeyPlace? {
        guard let id = template[CKA_ID], !id.isEmpty else { return nil }
        return try keyPlaces().first { $0.cryptokiID == id }
    }

    /// The place of a certificate's private key.
    private func place(ofKeyOf certificate: Certificate) throws(CryptokiError) -> AdministeredKeyPlace {
        let keys = try objects(matching: Template([(CKA_CLASS, Encoded.ulong(CKO_PRIVATE_KEY))]))
        let id = keys.first { $0.publicKeyHash == certificate.keyHash }?.attributes[CKA_ID]
        guard let place = try keyPlaces().first(where: { $0.cryptokiID == id }) else {
            throw CryptokiError(CKR_TEMPLATE_INCONSISTENT, "no slot has the certificate's key, and CKA_ID names none")
        }
        return place
    }

    /// The first empty place for a key of which the template names none: that for decryption where the key does nothing else.
    private func freePlace(_ template: Template, _ kind: KeyKind) throws(CryptokiError) -> AdministeredKeyPlace {
        var decrypts = false
        for type in [CKA_DECRYPT, CKA_DERIVE, CKA_UNWRAP] where try template.bool(type) == true { decrypts = true }
        let signs = try template.bool(CKA_SIGN) ?? !decrypts
        let roles: [KeyRole] = signs && kind != .x25519 ? [.authentication, .signature, .decryption] : [.decryption]
        let used = Set(try objects(matching: Template()).compactMap { $0.attributes[CKA_ID] })
        let places = try keyPlaces().filter { !used.contains($0.cryptokiID) }
        guard let place = roles.lazy.compactMap({ role in places.first { $0.use == role } }).first else {
            throw CryptokiError(CKR_DEVICE_MEMORY, "the slots for such keys are in use (CKA_ID names another one)")
        }
        return place
    }

    private func keyPlaces() throws(CryptokiError) -> [AdministeredKeyPlace] {
        let context = context(to: "administer the card", asks: true)
        return try CryptokiError.inSession { () throws(KeychainError) in try service.keyPlaces(in: name, context) }
    }

    private func object(
        _ objectClass: CK_OBJECT_CLASS, in place: AdministeredKeyPlace
    ) throws(CryptokiError) -> CryptokiObject {
        let template = Template([(CKA_CLASS, Encoded.ulong(objectClass)), (CKA_ID, place.cryptokiID)])
        guard let object = try objects(matching: template).first else {
            throw CryptokiError(
                CKR_FUNCTION_FAILED,
                "it is in slot \(place.slot), and the card does not tell of it without a certificate")
        }
        return object
    }

    /// The name of an object's slot, or of a data object.
    private func slotName(_ object: ObjectName) throws(CryptokiError) -> String {
        guard let name = object.reference?.objectName else { throw CryptokiError(CKR_OBJECT_HANDLE_INVALID) }
        return name
    }

    private func administer(_ change: CardChange) throws(CryptokiError) -> CardChangeOutcome {
        let names: [CK_RV: CK_RV] = [
            // The slot is in use, or its key is another one.
            CKR_DATA_INVALID: CKR_ATTRIBUTE_VALUE_INVALID,
            // The card does not do it.
            CKR_KEY_FUNCTION_NOT_PERMITTED: CKR_ACTION_PROHIBITED,
        ]
        let context = context(to: "administer the card", asks: true)
        return try Cryptoki.renaming(names) { () throws(CryptokiError) in
            try CryptokiError.inSession { () throws(KeychainError) in try service.change(change, in: name, context) }
        }
    }
}
