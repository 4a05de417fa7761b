internal import CCryptoki
internal import SecureBytes

// A module's objects and their attributes.
extension LoadedModule {
    /// The objects that a template finds, in the module's order.
    func find(
        _ objectClass: CK_OBJECT_CLASS, id: [UInt8] = [], label: [UInt8] = [], in session: CK_SESSION_HANDLE
    ) throws(ModuleFailure) -> [CK_OBJECT_HANDLE] {
        let initialize = try unsafe call("C_FindObjectsInit", functions.pointee.C_FindObjectsInit)
        let find = try unsafe call("C_FindObjects", functions.pointee.C_FindObjects)
        let finish = try unsafe call("C_FindObjectsFinal", functions.pointee.C_FindObjectsFinal)
        var template: [Attribute] = [(CKA_CLASS, objectClass.nativeBytes)]
        if !id.isEmpty { template.append((CKA_ID, id)) }
        if !label.isEmpty { template.append((CKA_LABEL, label)) }
        let code = unsafe LoadedModule.withTemplate(template) { unsafe initialize(session, $0, $1) }
        try LoadedModule.check("C_FindObjectsInit", code)
        defer { _ = finish(session) }
        var found: [CK_OBJECT_HANDLE] = []
        var part = [CK_OBJECT_HANDLE](repeating: 0, count: 64)
        while found.count < LoadedModule.maximumObjects {
            var count: CK_ULONG = 0
            try LoadedModule.check("C_FindObjects", unsafe find(session, &part, CK_ULONG(part.count), &count))
            guard count > 0 else { return found }
            guard count <= CK_ULONG(part.count) else {
                throw ModuleFailure(code: 0, what: "it found \(count) objects where \(part.count) have room")
            }
            found += part.prefix(Int(count))
        }
        throw ModuleFailure(code: 0, what: "it has more than \(LoadedModule.maximumObjects) objects of a class")
    }

    /// The value of an attribute; nil where the object lacks it, or does not reveal it.
    func value(
        _ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE
    ) -> [UInt8]? {
        guard let count = length(type, of: object, in: session) else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        let written = unsafe bytes.withUnsafeMutableBytes { unsafe read(type, of: object, in: session, into: $0) }
        return written.map { Array(bytes.prefix($0)) }
    }

    /// The value of an attribute that is a secret.
    func secretValue(
        _ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE
    ) -> Secret? {
        guard let count = length(type, of: object, in: session) else { return nil }
        var written: Int?
        let secret = Secret(capacity: count) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
                written = unsafe read(type, of: object, in: session, into: UnsafeMutableRawBufferPointer(buffer))
                initialized = written ?? 0
            }
        }
        guard written != nil else { return nil }
        return secret
    }

    private func length(
        _ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE
    ) -> Int? {
        guard let function = unsafe functions.pointee.C_GetAttributeValue else { return nil }
        var attribute = unsafe CK_ATTRIBUTE(type: type, pValue: nil, ulValueLen: 0)
        guard unsafe function(session, object, &attribute, 1) == CKR_OK,
            let count = unsafe Int(exactly: attribute.ulValueLen), 0...LoadedModule.maximumValue ~= count
        else { return nil }
        return count
    }

    /// - Returns: the number of bytes in the buffer; nil where the module does not give the value.
    private func read(
        _ type: CK_ATTRIBUTE_TYPE, of object: CK_OBJECT_HANDLE, in session: CK_SESSION_HANDLE,
        into buffer: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard unsafe !buffer.isEmpty else { return 0 }
        guard let function = unsafe functions.pointee.C_GetAttributeValue else { return nil }
        var attribute = unsafe LoadedModule.attribute(type, buffer)
        guard unsafe function(session, object, &attribute, 1) == CKR_OK,
            let count = unsafe Int(exactly: attribute.ulValueLen), 0...buffer.count ~= count
        else { return nil }
        return count
    }

    private static func attribute(_ type: CK_ATTRIBUTE_TYPE, _ value: UnsafeMutableRawBufferPointer) -> CK_ATTRIBUTE {
        unsafe CK_ATTRIBUTE(type: type, pValue: value.baseAddress, ulValueLen: CK_ULONG(value.count))
    }

    typealias Attribute = (type: CK_ATTRIBUTE_TYPE, value: [UInt8])

    /// Runs `body` with a template of the attributes, each value aligned as a `CK_ULONG`.
    static func withTemplate(
        _ attributes: [Attribute], _ body: (UnsafeMutablePointer<CK_ATTRIBUTE>?, CK_ULONG) -> CK_RV
    ) -> CK_RV {
        let size = MemoryLayout<CK_ULONG>.size
        var values: [UInt8] = []
        let places = attributes.map { attribute in
            values += [UInt8](repeating: 0, count: (size - values.count % size) % size)
            defer { values += attribute.value }
            return values.count..<values.count + attribute.value.count
        }
        return unsafe values.withUnsafeMutableBytes { values in
            var template = unsafe zip(attributes, places).map { attribute, place in
                unsafe LoadedModule.attribute(attribute.type, UnsafeMutableRawBufferPointer(rebasing: values[place]))
            }
            return unsafe template.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress, CK_ULONG($0.count)) }
        }
    }
}
