internal import CCryptoki
internal import CPKCS11Module
internal import CThinClient

/// Keeps the attributes of the last object that a program asked about. The host sends all of them with the first, since programs
/// ask for one after the other, and for each twice: first for its length, then for its value.
///
/// A connection keeps them for the next calls about the same object, until a call of this process may have changed something, or
/// ``moment`` has passed: other processes change objects too.
enum AttributeMemory {
    /// In milliseconds.
    fileprivate static let moment: Int64 = 10

    static var changes: UInt64 { tokenkit_load(word) }

    private static var word: Int32 { Int32(tokenkit_word_changes) }

    static func noteChange() {
        var changes = changes
        while tokenkit_replace(word, changes, changes &+ 1) == 0 { changes = self.changes }
    }

    /// Answers a call from a connection's memory.
    ///
    /// - Returns: false where an attribute is missing, so that nothing was written.
    static func answer(
        _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>,
        _ count: Int, _ context: inout CallContext
    ) throws(Failure) -> Bool {
        guard let connection = Connections.takeIdle() else { return false }
        defer { Connections.giveBack(connection, context.initialisation) }
        let memory = unsafe Client.attributes(of: connection).pointee
        guard unsafe Host.number == connection.fields.pointee.host, unsafe memory.isOf(session, object) else {
            return false
        }
        for index in 0..<count where unsafe memory.value(attributes[index].type) == nil { return false }
        var isShort = false
        for index in 0..<count {
            guard let value = unsafe memory.value(attributes[index].type) else { continue }
            let room = unsafe attributes[index].ulValueLen
            unsafe attributes[index].ulValueLen = CK_ULONG(value.count)
            guard let start = unsafe attributes[index].pValue else { continue }
            if room < CK_ULONG(value.count) {
                unsafe attributes[index].ulValueLen = .max
                isShort = true
            } else if let source = value.baseAddress {
                unsafe start.copyMemory(from: source, byteCount: value.count)
            }
        }
        if isShort { throw Failure(CKR_BUFFER_TOO_SMALL) }
        return true
    }
}

extension PKCS11Function {
    /// Whether the call may change an object's attributes, or the set of objects. The use of a key changes neither.
    var mayChangeObjects: Bool {
        switch self {
        case .finalize, .setPIN, .closeSession, .closeAllSessions, .login, .logout, .createObject, .copyObject,
            .destroyObject,
            .setAttributeValue, .generateKey, .generateKeyPair, .unwrapKey, .deriveKey, .waitForSlotEvent:
            true
        default: false
        }
    }
}

extension PKCS11Function {
    /// Whether the call's first argument is a slot, or it has none; false for a session.
    var takesSlot: Bool {
        switch self {
        case .getSlotList, .getSlotInfo, .getTokenInfo, .getMechanismList, .getMechanismInfo, .openSession,
            .closeAllSessions, .waitForSlotEvent, .finalize:
            true
        default: false
        }
    }
}

extension tokenkit_attributes {
    /// Whether the attributes are those of an object, and still valid.
    fileprivate func isOf(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) -> Bool {
        unsafe bytes != nil && self.session == UInt64(session) && self.object == UInt64(object)
            && changes == AttributeMemory.changes
            && tokenkit_now() - time < AttributeMemory.moment
    }

    /// Keeps the attributes of an answer.
    ///
    /// - Parameter changes: the value of ``AttributeMemory/changes`` before the host was asked.
    mutating func keep(_ answer: PKCS11Answer, _ call: PKCS11Call, _ changes: UInt64) {
        unsafe forget()
        guard !answer.text.isEmpty, call.numbers.count > 2 else { return }
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: answer.text.count)
        for index in answer.text.indices { unsafe memory[index] = answer.text[index] }
        unsafe self = tokenkit_attributes(
            session: call.numbers[0], object: call.numbers[1], changes: changes,
            time: tokenkit_now(), bytes: memory,
            count: UInt32(answer.text.count))
    }

    mutating func forget() {
        unsafe bytes?.deallocate()
        unsafe bytes = nil
    }

    /// The value of an attribute: the list has the type (8 bytes) and the length (4) of each before its value.
    fileprivate func value(_ type: CK_ATTRIBUTE_TYPE) -> UnsafeRawBufferPointer? {
        guard let bytes = unsafe bytes else { return nil }
        let list = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
        var offset = 0
        while offset + 12 <= list.count {
            let length = Int(unsafe list.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self).littleEndian)
            guard length <= list.count - offset - 12 else { return nil }
            if unsafe list.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian == UInt64(type) {
                return unsafe UnsafeRawBufferPointer(rebasing: list[offset + 12..<offset + 12 + length])
            }
            offset += 12 + length
        }
        return nil
    }
}
