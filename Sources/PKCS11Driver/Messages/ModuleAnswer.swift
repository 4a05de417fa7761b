internal import CryptokiNames

/// A token as its module describes it (`CK_SLOT_INFO`, `CK_TOKEN_INFO`), without the blanks that fill the fields.
struct ModuleTokenInfo: Hashable {
    let slot: UInt64
    let slotDescription: String
    let label: PKCS11URI.Text
    let manufacturer: PKCS11URI.Text
    let model: PKCS11URI.Text
    let serialNumber: PKCS11URI.Text
    let flags: UInt64
    let minimumPINLength: UInt64
    let maximumPINLength: UInt64
    let firmware: String
}

/// An object on a token. Fields are empty where the object lacks the attribute.
struct ModuleObject: Hashable {
    var objectClass: UInt64
    var id: [UInt8] = []
    var label: [UInt8] = []
    /// A certificate's DER.
    var value: [UInt8] = []
    var keyType: UInt64 = 0
    var modulus: [UInt8] = []
    var exponent: [UInt8] = []
    var parameters: [UInt8] = []
    var point: [UInt8] = []
    /// A DER `SubjectPublicKeyInfo`.
    var publicKeyInfo: [UInt8] = []
    var uses: Uses = []

    struct Uses: OptionSet, Hashable {
        let rawValue: UInt8
        static let sign = Uses(rawValue: 1)
        static let decrypt = Uses(rawValue: 2)
        static let derive = Uses(rawValue: 4)
        static let alwaysAuthenticate = Uses(rawValue: 8)
    }
}

/// The reason that the module did not do a request.
struct ModuleFailure: Error, Hashable {
    /// The module's return value; 0 where the module cannot be used.
    let code: UInt64
    /// The function of the module, or the fault that was found.
    let what: String
}

extension ModuleTokenInfo: MessageField {
    func write(to fields: inout FieldWriter) {
        fields.write(slot)
        fields.write(slotDescription)
        for text in [label, manufacturer, model, serialNumber] { fields.write(text.bytes) }
        for number in [flags, minimumPINLength, maximumPINLength] { fields.write(number) }
        fields.write(firmware)
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        self.init(
            slot: try fields.number(), slotDescription: try fields.text(), label: .init(try fields.string()),
            manufacturer: .init(try fields.string()), model: .init(try fields.string()),
            serialNumber: .init(try fields.string()),
            flags: try fields.number(), minimumPINLength: try fields.number(), maximumPINLength: try fields.number(),
            firmware: try fields.text())
    }
}

extension ModuleObject: MessageField {
    func write(to fields: inout FieldWriter) {
        fields.write(objectClass)
        fields.write(keyType)
        fields.write(uses.rawValue)
        for value in [id, label, value, modulus, exponent, parameters, point, publicKeyInfo] { fields.write(value) }
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        objectClass = try fields.number()
        keyType = try fields.number()
        uses = Uses(rawValue: try fields.byte())
        id = try fields.string()
        label = try fields.string()
        value = try fields.string()
        modulus = try fields.string()
        exponent = try fields.string()
        parameters = try fields.string()
        point = try fields.string()
        publicKeyInfo = try fields.string()
    }
}

extension ModuleFailure: MessageField {
    func write(to fields: inout FieldWriter) {
        fields.write(code)
        fields.write(what)
    }

    init(from fields: inout FieldReader) throws(MalformedMessage) {
        self.init(code: try fields.number(), what: try fields.text())
    }
}
